import { expect, it } from "vitest";
import { isLoopback, senderOf } from "../../gateway/http/peer.ts";

it.each([
  ["192.168.0.2", "192.168.0.2"],
  ["::ffff:192.168.0.2", "192.168.0.2"],
  ["2001:db8:0:1:aaaa:bbbb:cccc:dddd", "2001:db8:0:1::/64"],
  ["2001:DB8:0:1::5", "2001:db8:0:1::/64"],
  ["2001:db8::1:2:3:4:5", "2001:db8:0:1::/64"],
  ["fe80::1234%eth0", "fe80:0:0:0::/64"],
  ["::1", "0:0:0:0::/64"],
  ["2001::", "2001:0:0:0::/64"],
  [null, ""],
])("%s is counted as %s", (address, sender) => expect(senderOf(address)).toBe(sender));

it.each([
  ["127.0.0.1", true],
  ["::1", true],
  ["::ffff:127.0.0.1", true],
  ["127.0.0.1.example", false],
  ["128.0.0.1", false],
  ["::11", false],
  [null, false],
])("%s is this computer: %s", (address, is) => expect(isLoopback(address)).toBe(is));
