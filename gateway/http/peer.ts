/** Who sent a request, as the server that took it knows: some things are bounded per sender, some open on loopback only. */
import type { Context } from "hono";

/** What a server hands over beside a request. */
export interface Peer {
  /** IP address of the other end of the connection; null when it is gone, or none. */
  readonly address: string | null;
}

/** Address of the sender; null for a request that no server took, or whose connection is gone. */
export function peerAddress(context: Context): string | null {
  return (context.env as Partial<Peer> | undefined)?.address ?? null;
}

/** IPv4 behind an IPv6 socket as IPv4; a zone left out. */
function plain(address: string): string {
  return address.replace(/%.*$/, "").replace(/^::ffff:(?=\d+\.)/i, "");
}

/** True for an address of this same computer. */
export function isLoopback(address: string | null): boolean {
  return address !== null && /^(127\.\d+\.\d+\.\d+|::1)$/.test(plain(address));
}

/**
 * What one sender is counted by: an IPv4 address, or the first half of an IPv6 address, of whose other half every
 * computer picks as many as it likes.
 */
export function senderOf(address: string | null): string {
  if (address === null) return "";
  const one = plain(address);
  if (!one.includes(":")) return one;
  const [head = "", tail = ""] = one.split("::");
  const [first, last] = [head, tail].map((half) => half.split(":").filter((group) => group !== "")) as [
    string[],
    string[],
  ];
  const gap = Array.from({ length: Math.max(0, 8 - first.length - last.length) }, () => "0");
  const groups = one.includes("::") ? [...first, ...gap, ...last] : first;
  return `${groups
    .slice(0, 4)
    .map((group) => Number.parseInt(group, 16).toString(16))
    .join(":")}::/64`;
}
