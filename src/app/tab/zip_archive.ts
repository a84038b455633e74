/**
 * What a zip archive holds, each file checked against what the archive says of it (APPNOTE.TXT of PKWARE, 4.3.7 to 4.3.16).
 */
import { unzipSync } from "fflate";
import { FormatError } from "../../core/errors.ts";

const endSignature = 0x06054b50;
const end64Signature = 0x06064b50;
const headerSignature = 0x02014b50;

/** Remainders of the CRC-32's polynomial, reflected, by byte. */
const remainders: Uint32Array = Uint32Array.from({ length: 256 }, (_, byte) => {
  let r = byte;
  for (let bit = 0; bit < 8; bit++) r = r & 1 ? (r >>> 1) ^ 0xedb88320 : r >>> 1;
  return r;
});

/** The CRC-32 of bytes. */
export function crc32(bytes: Uint8Array): number {
  let crc = 0xffffffff;
  for (const byte of bytes) crc = (crc >>> 8) ^ (remainders[(crc ^ byte) & 0xff] ?? 0);
  return (crc ^ 0xffffffff) >>> 0;
}

/** The checksums in an archive's central directory, in its order. @throws RangeError when it is cut off */
function checksums(zip: Uint8Array): number[] {
  const view = new DataView(zip.buffer, zip.byteOffset, zip.byteLength);
  let end = zip.length - 22;
  while (view.getUint32(end, true) !== endSignature) end--;
  let at = view.getUint32(end + 16, true);
  if (end >= 20) {
    const end64 = view.getUint32(end - 12, true);
    const isThere = end64 + 56 <= end && view.getUint32(end64, true) === end64Signature;
    if (isThere) at = view.getUint32(end64 + 48, true);
  }
  const out: number[] = [];
  while (at + 46 <= end && view.getUint32(at, true) === headerSignature) {
    out.push(view.getUint32(at + 16, true));
    at += 46 + view.getUint16(at + 28, true) + view.getUint16(at + 30, true) + view.getUint16(at + 32, true);
  }
  return out;
}

/** The files of an archive, folders left out. @throws FormatError "zip", naming the file that is damaged */
export function zipEntries(zip: Uint8Array): [path: string, bytes: Uint8Array][] {
  const claims = new Map<string, { size: number; crc: number | undefined }>();
  let entries: [string, Uint8Array][];
  try {
    const crcs = checksums(zip);
    let seen = 0;
    const filter = ({ name, originalSize }: { name: string; originalSize: number }): boolean => {
      claims.set(name, { size: originalSize, crc: crcs[seen++] });
      return !/[/\\]$/.test(name);
    };
    entries = Object.entries(unzipSync(zip, { filter }));
  } catch (cause) {
    throw new FormatError("zip", "The file is no zip archive that can be read.", { do: "Choose another file.", cause });
  }
  for (const [path, bytes] of entries) {
    const claim = claims.get(path);
    if (claim?.size === bytes.length && claim.crc === crc32(bytes)) continue;
    const message = `The zip archive is damaged: ${path} is not what was packed.`;
    throw new FormatError("zip", message, { do: "Pack it again, or choose the folder itself." });
  }
  return entries;
}
