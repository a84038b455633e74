import { createHash, X509Certificate } from "node:crypto";
import { chmod } from "node:fs/promises";
import { generate } from "selfsigned";
import type { HostPlatform } from "../../schema/platform.ts";
import type { LanAddresses } from "./addresses.ts";

/** A certificate that nobody has signed but itself, and its key. */
export interface LanCertificate {
  /** PEM. */
  readonly cert: string;
  readonly key: string;
  /** SHA-256 of the certificate as browsers show it: "AB:CD:…". */
  readonly fingerprint: string;
}

const dayMs = 86_400_000;
/** Browsers refuse certificates that last much longer than a year. */
const lifetimeDays = 365;
/** One that ends sooner is made anew, so that it lasts through a workshop. */
const restDays = 7;

function fingerprintOf(cert: string): string {
  const digest = createHash("sha256").update(new X509Certificate(cert).raw).digest("hex").toUpperCase();
  return digest.replace(/(..)(?=.)/g, "$1:");
}

/** True when a certificate names every address, has begun (a clock may have been set back), and lasts long enough. */
function isGood(cert: string, { ips, names }: LanAddresses, nowMs: number): boolean {
  const known = new X509Certificate(cert);
  const covers = ips.every((ip) => known.checkIP(ip)) && names.every((name) => known.checkHost(name));
  return covers && Date.parse(known.validFrom) <= nowMs && Date.parse(known.validTo) - nowMs > restDays * dayMs;
}

async function make({ ips, names }: LanAddresses, nowMs: number): Promise<{ cert: string; private: string }> {
  const loopback = ["127.0.0.1", "::1"];
  return await generate([{ name: "commonName", value: names[0] ?? "leyden" }], {
    keyType: "ec",
    curve: "P-256",
    algorithm: "sha256",
    // A clock that is a little behind must not find it unborn.
    notBeforeDate: new Date(nowMs - dayMs),
    notAfterDate: new Date(nowMs + lifetimeDays * dayMs),
    extensions: [
      { name: "basicConstraints", cA: false, critical: true },
      { name: "keyUsage", digitalSignature: true, critical: true },
      { name: "extKeyUsage", serverAuth: true },
      {
        name: "subjectAltName",
        altNames: [
          ...["localhost", ...names].map((value) => ({ type: 2 as const, value })),
          ...[...loopback, ...ips].map((ip) => ({ type: 7 as const, ip })),
        ],
      },
    ],
  });
}

/**
 * The certificate of this computer for its local network, kept in the cache folder so that browsers which accepted it
 * once know it again. It is made anew when an address is missing in it or it ends within a week.
 */
export async function lanCertificate(platform: HostPlatform, addresses: LanAddresses): Promise<LanCertificate> {
  const { files, clock, cacheFolder } = platform;
  const certPath = files.join(cacheFolder, "lan", "cert.pem");
  const keyPath = files.join(cacheFolder, "lan", "key.pem");
  if ((await files.exists(certPath)) && (await files.exists(keyPath))) {
    const cert = await files.readText(certPath);
    if (isGood(cert, addresses, clock.now())) {
      return { cert, key: await files.readText(keyPath), fingerprint: fingerprintOf(cert) };
    }
  }
  const made = await make(addresses, clock.now());
  await files.write(keyPath, "");
  // The key is readable by its owner only, before it is in the file.
  if (platform.system.os !== "win32") await chmod(keyPath, 0o600);
  await files.append(keyPath, made.private);
  await files.write(certPath, made.cert);
  return { cert: made.cert, key: made.private, fingerprint: fingerprintOf(made.cert) };
}
