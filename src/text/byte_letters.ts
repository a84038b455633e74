/** The printable letter that stands for each byte in byte-level vocabularies (GPT-2's table). */
export const byteLetters: readonly string[] = letters();

const bytesByLetter: ReadonlyMap<string, number> = new Map(byteLetters.map((letter, byte) => [letter, byte]));

function letters(): string[] {
  const printable = (b: number) => (b >= 33 && b <= 126) || (b >= 161 && b <= 172) || b >= 174;
  let next = 256;
  return Array.from({ length: 256 }, (_, b) => String.fromCharCode(printable(b) ? b : next++));
}

/**
 * The bytes that a vocabulary's piece stands for when it is written in bytes: in the letters of a byte-level vocabulary,
 * or as a byte that a vocabulary of texts falls back to, such as `<0xE3>`. Null for other pieces.
 */
export function bytesOfPiece(piece: string): Uint8Array | null {
  const fallback = /^<0x([0-9A-Fa-f]{2})>$/.exec(piece);
  if (fallback) return Uint8Array.of(Number.parseInt(fallback[1] ?? "", 16));
  const bytes = Array.from(piece, (letter) => bytesByLetter.get(letter) ?? -1);
  return bytes.includes(-1) ? null : Uint8Array.from(bytes);
}
