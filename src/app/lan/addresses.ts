import { hostname, networkInterfaces } from "node:os";

/** How this computer is reached from its local network. */
export interface LanAddresses {
  /** IPv4 and global IPv6 addresses of its network cards; loopback left out. */
  readonly ips: readonly string[];
  /** Its name, and the name that mDNS gives it. */
  readonly names: readonly string[];
}

/** Cards of containers and virtual machines: nobody else reaches them. */
const virtualCards = /^(docker|br-|veth|virbr|vmnet|vboxnet|lxc|podman)/;

/** The addresses of this computer in its local network. */
export function lanAddresses(): LanAddresses {
  const ips = Object.entries(networkInterfaces())
    .filter(([name]) => !virtualCards.test(name))
    .flatMap(([, cards]) => cards ?? [])
    .filter(({ internal, address }) => !internal && !/^(fe80|169\.254\.)/i.test(address))
    .map(({ address }) => address);
  const name = hostname().toLowerCase();
  const names = /^[a-z0-9.-]+$/.test(name) ? [name, ...(name.includes(".") ? [] : [`${name}.local`])] : [];
  return { ips: [...new Set(ips)], names };
}
