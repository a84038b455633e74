/**
 * Keys of rollouts: capability tokens that open one attempt of one rollout. A token names its attempt and carries a
 * keyed hash of that, so that nothing has to be stored and no other attempt can be derived from it.
 */
import type { Entropy } from "../src/core/clock.ts";
import { equalInConstantTime } from "./http/constant_time.ts";

/** What a rollout's key opens. */
export interface AttemptKey {
  rolloutId: string;
  attemptId: string;
}

const prefix = "lrk-";
const remembered = 4096;

function toBase64Url(bytes: Uint8Array): string {
  let text = "";
  for (const byte of bytes) text += String.fromCharCode(byte);
  return btoa(text).replaceAll("+", "-").replaceAll("/", "_").replaceAll("=", "");
}

function fromBase64Url(text: string): Uint8Array {
  return Uint8Array.from(atob(text.replaceAll("-", "+").replaceAll("_", "/")), (char) => char.charCodeAt(0));
}

/** Issues and checks rollouts' keys. */
export class RolloutKeys {
  private readonly secret: Promise<CryptoKey>;
  /** Keys found good or bad lately, since checking one takes a hash. */
  private readonly known = new Map<string, AttemptKey | null>();

  /** `adminKey` seeds the secret, so that keys outlive a restart; without one the secret is random. */
  constructor(adminKey: string, entropy: Entropy) {
    const seed = adminKey === "" ? entropy.bytes(32) : new TextEncoder().encode(`leyden rollout keys ${adminKey}`);
    const algorithm = { name: "HMAC", hash: "SHA-256" };
    this.secret = crypto.subtle.importKey("raw", seed as BufferSource, algorithm, false, ["sign"]);
  }

  /** The key of an attempt; the same one every time. */
  async issue({ rolloutId, attemptId }: AttemptKey): Promise<string> {
    const claim = toBase64Url(new TextEncoder().encode(JSON.stringify([rolloutId, attemptId])));
    return `${prefix}${claim}.${await this.sign(claim)}`;
  }

  /** What a key opens; null when it is none of ours. */
  async check(key: string): Promise<AttemptKey | null> {
    if (!key.startsWith(prefix)) return null;
    const known = this.known.get(key);
    if (known !== undefined) return known;
    const opened = await this.open(key);
    const [oldest] = this.known.keys();
    if (this.known.size >= remembered && oldest !== undefined) this.known.delete(oldest);
    this.known.set(key, opened);
    return opened;
  }

  private async open(key: string): Promise<AttemptKey | null> {
    const [claim = "", signature = ""] = key.slice(prefix.length).split(".");
    if (!equalInConstantTime(signature, await this.sign(claim))) return null;
    const [rolloutId, attemptId] = JSON.parse(new TextDecoder().decode(fromBase64Url(claim))) as [string, string];
    return { rolloutId, attemptId };
  }

  private async sign(claim: string): Promise<string> {
    const signature = await crypto.subtle.sign("HMAC", await this.secret, new TextEncoder().encode(claim));
    return toBase64Url(new Uint8Array(signature));
  }
}
