import { FormatError } from "../../src/core/errors.ts";
import type { FileEntry, Files } from "../../src/schema/files.ts";

function toBytes(data: Uint8Array | string): Uint8Array {
  return typeof data === "string" ? new TextEncoder().encode(data) : data;
}

/** Files that are only in memory, so that nothing a test waits for takes time. */
export class MemoryFiles implements Files {
  private readonly contents = new Map<string, Uint8Array>();

  async read(path: string): Promise<Uint8Array> {
    const found = this.contents.get(path);
    if (found === undefined) throw new FormatError("file_missing", `${path} is missing.`);
    return found;
  }

  async readText(path: string): Promise<string> {
    return new TextDecoder().decode(await this.read(path));
  }

  async readRange(path: string, offset: number, length: number): Promise<Uint8Array> {
    return (await this.read(path)).subarray(offset, offset + length);
  }

  async size(path: string): Promise<number> {
    return (await this.read(path)).length;
  }

  async write(path: string, data: Uint8Array | string): Promise<void> {
    this.contents.set(path, toBytes(data));
  }

  async append(path: string, data: Uint8Array | string): Promise<void> {
    this.contents.set(path, new Uint8Array([...(this.contents.get(path) ?? []), ...toBytes(data)]));
  }

  async list(folder: string): Promise<FileEntry[]> {
    const paths = [...this.contents].filter(([path]) => path.startsWith(`${folder}/`));
    return paths.map(([path, { length }]) => ({
      name: path.slice(folder.length + 1),
      kind: "file",
      sizeBytes: length,
    }));
  }

  async exists(path: string): Promise<boolean> {
    return this.contents.has(path);
  }

  async makeFolder(): Promise<void> {}

  async copy(from: string, to: string): Promise<void> {
    await this.write(to, await this.read(from));
  }

  async rename(from: string, to: string): Promise<void> {
    await this.copy(from, to);
    this.contents.delete(from);
  }

  async remove(path: string): Promise<void> {
    this.contents.delete(path);
  }

  async makeTempFolder(prefix: string): Promise<string> {
    return `/tmp/${prefix}1`;
  }

  join(...segments: string[]): string {
    return segments.join("/");
  }

  absolute(path: string): string {
    return path;
  }
}
