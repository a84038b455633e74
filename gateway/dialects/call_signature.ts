/**
 * Signatures of thinking, in Anthropic's blocks and in Gemini's parts. Harnesses send them back untouched and never read
 * them, so ours name the call whose reply they belong to.
 */

const prefix = "leyden:";

/** The signature of the thinking in a call's reply. */
export function signatureOf(callId: string): string {
  return btoa(`${prefix}${callId}`);
}

/** The call that a signature names; null for another server's. */
export function signedCall(signature: unknown): string | null {
  if (typeof signature !== "string") return null;
  try {
    const said = atob(signature);
    return said.startsWith(prefix) ? said.slice(prefix.length) : null;
  } catch {
    return null;
  }
}
