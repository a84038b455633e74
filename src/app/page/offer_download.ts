import type { TabArchive } from "../tab/tab_messages.ts";

/** Long enough for any browser to have begun. */
const keptMs = 60_000;

/** Offers an archive as a file to keep. */
export function offerDownload({ name, zip }: TabArchive): void {
  const link = document.createElement("a");
  link.href = URL.createObjectURL(new Blob([zip as Uint8Array<ArrayBuffer>], { type: "application/zip" }));
  link.download = name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), keptMs);
}
