/** One file of the page as it is sent. */
export interface PageFile {
  readonly bytes: Uint8Array;
  /** Media type with its charset: "text/html; charset=utf-8". */
  readonly type: string;
  /** Strong entity tag, quotes included; the same bytes have the same tag. */
  readonly etag: string;
}

/** The built page, as a gateway serves it under /studio/. */
export interface PageFiles {
  /** The file at a path relative to the page's folder ("index.html", "models/calc/config.json"); null: there is none. */
  get(path: string): Promise<PageFile | null>;
}
