import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, it } from "vitest";
import { loadScript } from "../../src/app/load_script.ts";
import { nodeFiles } from "../../src/platform/node_files.ts";

it("A script may begin with a byte order mark and end its lines as Windows does", async () => {
  const folder = mkdtempSync(join(tmpdir(), "leyden-script-"));
  try {
    const path = join(folder, "script.jsonl");
    writeFileSync(path, '\ufeff{"text":"a"}\r\n\r\n{"error":500,"delayMs":1}\r\n');
    expect(await loadScript(nodeFiles, path)).toEqual([{ text: "a" }, { error: 500, delayMs: 1 }]);
  } finally {
    rmSync(folder, { recursive: true });
  }
});
