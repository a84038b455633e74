/**
 * Where the files that come with the page are: models/NAME/…, agents/NAME.js. A structured clone, so that a page can
 * hand it to its workers.
 */
export type PageAssets =
  /** Beside the page: `base` is an absolute address that ends in "/". */
  | { readonly kind: "folder"; readonly base: string }
  /** In the page itself, as in a single file opened from a disk, which may fetch nothing; keys are paths. */
  | { readonly kind: "embedded"; readonly files: Readonly<Record<string, Blob>> };

/** What `files.json` says of each file, by its path. */
export type PageAssetList = Readonly<Record<string, PageAssetFacts>>;

/** Size and content of one file. */
export interface PageAssetFacts {
  readonly sizeBytes: number;
  /** In hexadecimal. */
  readonly sha256: string;
}

/** Path of the list itself. */
export const pageAssetListPath = "files.json";
