import { hex } from "../core/clock.ts";
import { FormatError } from "../core/errors.ts";
import type { Files } from "../schema/files.ts";

/**
 * By a file's path in its checkpoint: SHA-256 of each of its pieces in order, in hexadecimal; an empty file has one piece.
 */
export type CheckpointHashes = Record<string, string[]>;

/** Bytes of a piece, the last one excepted: what is read at once to be checked, since files may be larger than memory. */
const pieceBytes = 64 * 2 ** 20;

async function sha256(bytes: Uint8Array): Promise<string> {
  return hex(new Uint8Array(await crypto.subtle.digest("SHA-256", bytes as BufferSource)));
}

/** Where the pieces of a file of so many bytes begin. */
function piecesOf(sizeBytes: number): number[] {
  return Array.from({ length: Math.max(1, Math.ceil(sizeBytes / pieceBytes)) }, (_, i) => i * pieceBytes);
}

/** The hashes of a checkpoint's files, by their paths in it. */
export async function hashesOf(files: Readonly<Record<string, Uint8Array>>): Promise<CheckpointHashes> {
  const out: CheckpointHashes = {};
  for (const [name, bytes] of Object.entries(files)) {
    const hashes: string[] = [];
    for (const from of piecesOf(bytes.length)) hashes.push(await sha256(bytes.subarray(from, from + pieceBytes)));
    out[name] = hashes;
  }
  return out;
}

/** @throws FormatError "checkpoint_damaged" when a file is missing, or has other bytes than those that were saved */
export async function checkHashes(files: Files, folder: string, saved: CheckpointHashes): Promise<void> {
  for (const [name, hashes] of Object.entries(saved)) {
    const path = files.join(folder, name);
    if (!(await files.exists(path))) throw damaged(folder, path, "is missing");
    const size = await files.size(path);
    const pieces = piecesOf(size);
    if (pieces.length !== hashes.length) throw damaged(folder, path, `has ${size} bytes, which is not what was saved`);
    for (const [i, from] of pieces.entries()) {
      const found = await sha256(await files.readRange(path, from, Math.min(pieceBytes, size - from)));
      if (found !== hashes[i]) throw damaged(folder, path, "has other bytes than those that were saved");
    }
  }
}

function damaged(folder: string, path: string, what: string): FormatError {
  return new FormatError("checkpoint_damaged", `The checkpoint's ${path} ${what}.`, {
    do: `Remove ${folder}; the run then resumes from the checkpoint before it.`,
    data: { path },
  });
}

/** True for what `hashesOf` gives, read back. */
export function areHashes(value: unknown): value is CheckpointHashes {
  if (typeof value !== "object" || value === null || Array.isArray(value)) return false;
  return Object.values(value).every(
    (hashes) => Array.isArray(hashes) && hashes.every((hash) => typeof hash === "string"),
  );
}
