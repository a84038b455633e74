// The least of a page around the studio: its key stands in the fragment's query, as the real page takes it from there.
import { mountStudio } from "../../../gateway/studio/client/mount.tsx";
import { systemClock } from "../../../src/platform/clock.ts";

const settings = new URLSearchParams(location.search);
const root = document.getElementById("studio");
const key = settings.get("k") ?? "";
if (root !== null) {
  mountStudio(root, {
    language: settings.get("language") === "ko" ? "ko" : "en",
    clock: systemClock,
    fetch: (path, init = {}) =>
      fetch(path, {
        ...init,
        headers: { ...(init.headers as Record<string, string>), authorization: `Bearer ${key}` },
      }),
  });
}
