/** A part of an address as it was meant; null for one that is badly encoded, as a typed "%" is. */
export function decodeUrlPart(part: string): string | null {
  try {
    return decodeURIComponent(part);
  } catch {
    return null;
  }
}
