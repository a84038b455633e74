import { EnvironmentError, FormatError } from "../core/errors.ts";
import type { PageAssets } from "../schema/page_assets.ts";

function missing(path: string, cause?: unknown): FormatError {
  return new FormatError("file_missing", `The page has no file ${path}.`, { do: "Build the page again.", cause });
}

async function fetched(address: URL): Promise<Response> {
  try {
    return await fetch(address);
  } catch (cause) {
    const message = `${address.href} could not be loaded.`;
    const advice = { do: "Check the connection to the page's server, then reload the page.", cause };
    throw new EnvironmentError("page_unreachable", message, advice);
  }
}

/**
 * The bytes of a file that comes with the page, in the page or in any of its workers.
 * @throws FormatError "file_missing"; EnvironmentError "page_unreachable" when its server does not answer
 */
export async function readAsset(assets: PageAssets, path: string): Promise<Uint8Array> {
  if (assets.kind === "embedded") {
    const blob = Object.hasOwn(assets.files, path) ? assets.files[path] : undefined;
    if (blob === undefined) throw missing(path);
    return new Uint8Array(await blob.arrayBuffer());
  }
  const response = await fetched(new URL(path, assets.base));
  if (response.ok) return new Uint8Array(await response.arrayBuffer());
  if (response.status === 404) throw missing(path);
  throw new EnvironmentError("page_unreachable", `${response.url} was answered ${response.status}.`, {
    do: "Reload the page; start its server again if that does not help.",
  });
}
