/** One entry of a folder. */
export interface FileEntry {
  /** Name inside the folder, no path. */
  name: string;
  kind: "file" | "folder";
  /** Bytes of a file; 0 for a folder. */
  sizeBytes: number;
}

/**
 * The file system as the product uses it: bytes in, bytes out, paths with "/" (a platform accepts its native form too).
 * A missing path is FormatError "file_missing"; a full disk EnvironmentError "disk_full"; anything else the system
 * refuses is EnvironmentError "file_failed".
 */
export interface Files {
  /** The whole file. @throws FormatError "file_missing" */
  read(path: string): Promise<Uint8Array>;
  /** The whole file as UTF-8 text. @throws FormatError "file_missing" */
  readText(path: string): Promise<string>;
  /**
   * `length` bytes from `offset`, for files too large to hold.
   * @throws FormatError "file_missing"; "file_truncated" when the file ends before offset + length
   */
  readRange(path: string, offset: number, length: number): Promise<Uint8Array>;
  /** Size in bytes. @throws FormatError "file_missing" */
  size(path: string): Promise<number>;
  /**
   * Replaces the file atomically: written beside it, flushed to disk, renamed; after a crash the old or the new content
   * is there, never a part. Makes the folders above it.
   */
  write(path: string, data: Uint8Array | string): Promise<void>;
  /** Adds at the end, making the file and the folders above it; `flush` waits until the bytes are on disk. */
  append(path: string, data: Uint8Array | string, options?: { flush?: boolean }): Promise<void>;
  /** Entries of a folder sorted by name. @throws FormatError "file_missing" */
  list(folder: string): Promise<FileEntry[]>;
  /** True for a file or a folder. */
  exists(path: string): Promise<boolean>;
  /** Makes a folder and those above it; one that exists is fine. */
  makeFolder(folder: string): Promise<void>;
  /**
   * Copies a file, or a folder with everything in it, to a path that does not exist yet. Links stay links, or with
   * `followLinks` become what they point to.
   */
  copy(from: string, to: string, options?: { followLinks?: boolean }): Promise<void>;
  /** Moves a file or a folder within one file system, replacing a file at the target. */
  rename(from: string, to: string): Promise<void>;
  /** Removes a file or a folder with everything in it; a missing path is fine. */
  remove(path: string): Promise<void>;
  /** A new empty folder for temporary files; the caller removes it. */
  makeTempFolder(prefix: string): Promise<string>;
  /** Path segments joined and normalised with "/". */
  join(...segments: string[]): string;
  /** The path made absolute against the working folder. */
  absolute(path: string): string;
}
