import type { ListenOptions } from "../../gateway/listening.ts";
import { lanAddresses } from "../app/lan/addresses.ts";
import { lanCertificate } from "../app/lan/certificate.ts";
import type { HostPlatform } from "../schema/platform.ts";
import type { Args } from "./args.ts";
import { UsageError } from "./args.ts";
import type { CommandContext } from "./command.ts";

/** Port that a local network is told, unless another is asked for: easier to type than a free one. */
const lanPort = 8443;

/** How a gateway is reached from the local network. */
export interface LanPlace {
  readonly listen: ListenOptions;
  /** SHA-256 of the certificate, as browsers show it. */
  readonly fingerprint: string;
  /** Hosts to name in addresses: IP addresses first. */
  readonly hosts: readonly string[];
}

/** Refuses places that contradict each other, before anything is opened. @throws UsageError */
export function checkPlace(args: Args): void {
  const isLan = args.flag("lan");
  if (args.flag("room") && !isLan) {
    throw new UsageError("--room is for the people of a network.", { do: "Pass --lan as well." });
  }
  if (isLan && args.requireText("host") !== "127.0.0.1") {
    throw new UsageError("--lan listens on every address, and --host names one.", { do: "Leave one of them out." });
  }
}

/** Readies TLS for the local network. */
export async function openLan(platform: HostPlatform, args: Args): Promise<LanPlace> {
  const addresses = lanAddresses();
  const { cert, key, fingerprint } = await lanCertificate(platform, addresses);
  const port = args.requireNumber("port");
  // Every address of the fourth version, and where the system has it of the sixth.
  const listen = { host: "0.0.0.0", port: port === 0 ? lanPort : port, tls: { cert, key } };
  const ips = addresses.ips.filter((ip) => !ip.includes(":"));
  return {
    listen,
    fingerprint,
    hosts: ips.length + addresses.names.length === 0 ? ["127.0.0.1"] : [...ips, ...addresses.names],
  };
}

/** Tells what to type in the room, and what browsers will say to it. */
export function explainLan({ note }: CommandContext, { fingerprint, hosts, listen }: LanPlace): void {
  note("The page, for everybody in this network:");
  for (const host of hosts) note(`  https://${host}:${listen.port}/studio/`);
  note("Nobody has vouched for its certificate, so browsers warn once. Compare its SHA-256 fingerprint, then go on:");
  note(`  ${fingerprint}`);
  note('  Chrome, Edge: "Your connection is not private": Advanced, then Proceed.');
  note('  Firefox: "Warning: Potential Security Risk Ahead": Advanced, then Accept the Risk and Continue.');
  note('  Safari: "This Connection Is Not Private": Show Details, then visit this website.');
}
