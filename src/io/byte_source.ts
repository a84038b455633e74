import { FormatError } from "../core/errors.ts";
import type { Files } from "../schema/files.ts";

/** Bytes that can be read by range: a file, a blob, a buffer. */
export interface ByteSource {
  /** What error messages call it. */
  readonly name: string;
  readonly sizeBytes: number;
  /** Exactly `length` bytes from `offset`. @throws FormatError "file_truncated" when there are fewer */
  read(offset: number, length: number): Promise<Uint8Array>;
}

/** A file as a source. @throws FormatError "file_missing" */
export async function fileSource(files: Files, path: string): Promise<ByteSource> {
  const sizeBytes = await files.size(path);
  return { name: path, sizeBytes, read: (offset, length) => files.readRange(path, offset, length) };
}

/** Bytes in memory as a source; reads are views, not copies. */
export function memorySource(name: string, bytes: Uint8Array): ByteSource {
  return {
    name,
    sizeBytes: bytes.byteLength,
    async read(offset, length) {
      if (offset < 0 || length < 0 || offset + length > bytes.byteLength) {
        throw new FormatError(
          "file_truncated",
          `${name} has ${bytes.byteLength} bytes; ${length} bytes from ${offset} were asked for.`,
          { do: "Fetch the file again; it is shorter than its header says.", data: { name, offset, length } },
        );
      }
      return bytes.subarray(offset, offset + length);
    },
  };
}
