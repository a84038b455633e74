import { asLeydenError } from "../../core/errors.ts";
import type { PageAssets } from "../../schema/page_assets.ts";
import type { PageFiles } from "../../schema/page_files.ts";
import { readAsset } from "../page_assets.ts";

const types: Readonly<Record<string, string>> = {
  js: "text/javascript; charset=utf-8",
  css: "text/css; charset=utf-8",
  html: "text/html; charset=utf-8",
  json: "application/json; charset=utf-8",
};

/** The files that come with the page, for routes of the tab's gateway that put them together. */
export function tabPageFiles(assets: PageAssets): PageFiles {
  return {
    async get(path) {
      try {
        const type = types[path.slice(path.lastIndexOf(".") + 1)] ?? "application/octet-stream";
        // Nothing of a tab's gateway is kept by the browser: the tag tells nobody anything.
        return { bytes: await readAsset(assets, path), type, etag: '""' };
      } catch (thrown) {
        if (asLeydenError(thrown).code === "file_missing") return null;
        throw thrown;
      }
    },
  };
}
