/** Oldest versions, major and minor. */
export declare const floors: { node: [number, number]; deno: [number, number] };

/** The error object for a runtime that is too old, or null; `versions` as in process.versions. */
export declare function tooOld(versions: {
  node: string;
  deno?: string;
}): { code: string; message: string; do: string } | null;
