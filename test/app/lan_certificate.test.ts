import { X509Certificate } from "node:crypto";
import { mkdtemp, rm, stat } from "node:fs/promises";
import { get } from "node:https";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { serveNode } from "../../gateway/serve_node.ts";
import { lanAddresses } from "../../src/app/lan/addresses.ts";
import { lanCertificate } from "../../src/app/lan/certificate.ts";
import { platform } from "../../src/platform/node.ts";
import type { HostPlatform } from "../../src/schema/platform.ts";

let folder = "";
let own: HostPlatform;
const addresses = { ips: ["192.168.7.20", "2001:db8::7"], names: ["teacher", "teacher.local"] };

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "leyden-lan-"));
  own = { ...platform, cacheFolder: folder };
});
afterAll(() => rm(folder, { recursive: true }));

describe("the certificate for a local network", () => {
  it("names every address, loopback too, and serves as a server's only", async () => {
    const { cert, fingerprint } = await lanCertificate(own, addresses);
    const read = new X509Certificate(cert);
    for (const ip of [...addresses.ips, "127.0.0.1", "::1"]) expect(read.checkIP(ip), ip).toBeTruthy();
    for (const name of [...addresses.names, "localhost"]) expect(read.checkHost(name), name).toBeTruthy();
    expect(read.checkIP("192.168.7.21")).toBeUndefined();
    expect(read.ca).toBe(false);
    expect(read.fingerprint256).toBe(fingerprint);
    const days = (Date.parse(read.validTo) - Date.now()) / 86_400_000;
    expect(days).toBeGreaterThan(360);
    expect(days).toBeLessThan(398);
  });

  it("is kept, its key for its owner only, until an address is missing or it ends", async () => {
    const first = await lanCertificate(own, addresses);
    expect(await lanCertificate(own, addresses)).toEqual(first);
    expect((await stat(join(folder, "lan", "key.pem"))).mode & 0o777).toBe(0o600);
    const moved = await lanCertificate(own, { ...addresses, ips: ["10.0.0.9"] });
    expect(moved.fingerprint).not.toBe(first.fingerprint);
    const later = { ...own.clock, now: () => own.clock.now() + 359 * 86_400_000 };
    const renewed = await lanCertificate({ ...own, clock: later }, { ...addresses, ips: ["10.0.0.9"] });
    expect(renewed.fingerprint).not.toBe(moved.fingerprint);
  });

  it("lets a gateway listen over TLS, verified by whoever trusts it", async () => {
    const { cert, key } = await lanCertificate(own, { ips: [], names: [] });
    const app = { fetch: () => new Response("over TLS"), drain: async () => true };
    const served = await serveNode(app, { host: "127.0.0.1", port: 0, tls: { cert, key } });
    const answered = await new Promise<[number | undefined, string]>((resolve, reject) => {
      get(served.url, { ca: cert }, (response) => {
        response.setEncoding("utf8");
        response.on("data", (text: string) => resolve([response.statusCode, text]));
      }).on("error", reject);
    });
    expect(served.url).toMatch(/^https:/);
    expect(answered).toEqual([200, "over TLS"]);
    await served.close(100);
  });
});

describe("the addresses of this computer", () => {
  it("leave out loopback and link-local ones", () => {
    const { ips, names } = lanAddresses();
    expect(ips.filter((ip) => /^(127\.|::1$|fe80|169\.254\.)/i.test(ip))).toEqual([]);
    for (const name of names) expect(name).toMatch(/^[a-z0-9.-]+$/);
  });
});
