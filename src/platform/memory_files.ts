import { EnvironmentError, FormatError } from "../core/errors.ts";
import type { FileEntry, Files } from "../schema/files.ts";
import { absolutePath, joinSegments } from "./path_segments.ts";

/** A file's bytes, or "folder". Bytes are never changed in place, so that a reader keeps what it read. */
type Node = Uint8Array | "folder";

function missing(path: string): FormatError {
  return new FormatError("file_missing", `There is no ${path}.`, { do: "Check the path.", data: { path } });
}

function failed(action: string, path: string, reason: string): EnvironmentError {
  return new EnvironmentError("file_failed", `Could not ${action} ${path}: ${reason}.`, {
    do: "Check the path.",
    data: { path },
  });
}

function bytesOf(data: Uint8Array | string): Uint8Array {
  return typeof data === "string" ? new TextEncoder().encode(data) : data.slice();
}

/** Paths with what is at them; every folder of a file is there too. */
class MemoryTree {
  private readonly nodes = new Map<string, Node>([["/", "folder"]]);
  private temporary = 0;

  at(path: string): Node | undefined {
    return this.nodes.get(absolutePath(path));
  }

  file(path: string, action = "read"): Uint8Array {
    const node = this.at(path);
    if (node === undefined) throw missing(path);
    if (node === "folder") throw failed(action, path, "it is a folder");
    return node;
  }

  put(path: string, bytes: Uint8Array, action = "write"): void {
    const place = absolutePath(path);
    if (this.nodes.get(place) === "folder") throw failed(action, path, "it is a folder");
    this.makeFolder(joinSegments(place, ".."), action);
    this.nodes.set(place, bytes);
  }

  makeFolder(folder: string, action = "make"): void {
    let place = "";
    for (const name of absolutePath(folder).split("/").slice(1)) {
      place = name === "" ? "/" : `${place === "/" ? "" : place}/${name}`;
      const node = this.nodes.get(place);
      if (node === undefined) this.nodes.set(place, "folder");
      else if (node !== "folder") throw failed(action, folder, `${place} is a file`);
    }
  }

  list(folder: string): FileEntry[] {
    if (this.at(folder) !== "folder") throw missing(folder);
    const prefix = this.prefixOf(folder);
    const inside = [...this.nodes].filter(
      ([place]) => place !== "/" && place.startsWith(prefix) && !place.slice(prefix.length).includes("/"),
    );
    const entries = inside.map(([place, node]): FileEntry => {
      const name = place.slice(prefix.length);
      return node === "folder"
        ? { name, kind: "folder", sizeBytes: 0 }
        : { name, kind: "file", sizeBytes: node.length };
    });
    return entries.sort((a, b) => (a.name < b.name ? -1 : a.name > b.name ? 1 : 0));
  }

  copy(from: string, to: string): void {
    const node = this.at(from);
    if (node === undefined) throw missing(from);
    if (this.at(to) !== undefined) throw failed("copy", from, `${to} exists already`);
    if (node !== "folder") {
      this.put(to, node, "copy");
      return;
    }
    const inside = this.inside(from);
    this.makeFolder(to, "copy");
    for (const [rest, inner] of inside) {
      const target = joinSegments(absolutePath(to), rest);
      if (inner === "folder") this.makeFolder(target, "copy");
      else this.put(target, inner, "copy");
    }
  }

  rename(from: string, to: string): void {
    if (absolutePath(from) === absolutePath(to)) return;
    if (this.at(to) instanceof Uint8Array && this.at(from) !== undefined) this.remove(to);
    this.copy(from, to);
    this.remove(from);
  }

  remove(path: string): void {
    const place = absolutePath(path);
    for (const [rest] of this.inside(path)) this.nodes.delete(joinSegments(place, rest));
    if (place !== "/") this.nodes.delete(place);
  }

  makeTempFolder(prefix: string): string {
    const path = `/tmp/${prefix}${++this.temporary}`;
    this.makeFolder(path);
    return path;
  }

  private prefixOf(folder: string): string {
    const place = absolutePath(folder);
    return place === "/" ? "/" : `${place}/`;
  }

  /** What lies below a folder, by its path from there. */
  private inside(folder: string): [rest: string, node: Node][] {
    const prefix = this.prefixOf(folder);
    return [...this.nodes].flatMap(([place, node]): [string, Node][] =>
      place !== "/" && place.startsWith(prefix) ? [[place.slice(prefix.length), node]] : [],
    );
  }
}

/** Files in memory, gone with the program: for pages opened from a disk, whose browser gives them no storage. */
export function memoryFiles(): Files {
  const tree = new MemoryTree();
  return {
    read: async (path) => tree.file(path).slice(),
    readText: async (path) => new TextDecoder().decode(tree.file(path)),
    async readRange(path, offset, length) {
      const bytes = tree.file(path);
      if (offset + length <= bytes.length) return bytes.slice(offset, offset + length);
      const message = `${path} ends at byte ${bytes.length}; bytes ${offset} to ${offset + length} were wanted.`;
      throw new FormatError("file_truncated", message, { do: "Copy or download the file again." });
    },
    size: async (path) => tree.file(path).length,
    write: async (path, data) => tree.put(path, bytesOf(data)),
    async append(path, data) {
      const before = tree.at(path) === undefined ? new Uint8Array() : tree.file(path, "write");
      const more = bytesOf(data);
      const whole = new Uint8Array(before.length + more.length);
      whole.set(before);
      whole.set(more, before.length);
      tree.put(path, whole);
    },
    list: async (folder) => tree.list(folder),
    exists: async (path) => tree.at(path) !== undefined,
    makeFolder: async (folder) => tree.makeFolder(folder),
    copy: async (from, to) => tree.copy(from, to),
    rename: async (from, to) => tree.rename(from, to),
    remove: async (path) => tree.remove(path),
    makeTempFolder: async (prefix) => tree.makeTempFolder(prefix),
    join: joinSegments,
    absolute: absolutePath,
  };
}
