import { describe, expect, it } from "vitest";
import { openAdapters } from "../../src/engine/adapter_files.ts";
import type { Model } from "../../src/model/model.ts";
import type { Files } from "../../src/schema/files.ts";

const lora = { rank: 1, alpha: 1, targets: "all-linear", rslora: false } as const;

/** Names are refused before the model or a file is touched. */
function open(...names: string[]): Promise<unknown> {
  const adapters = names.map((name) => ({ name, folder: "", lora }));
  return openAdapters({} as Files, {} as Model, { adapters, seed: 1 }, null);
}

describe("adapter names", () => {
  for (const [names, message] of [
    [["base"], 'An adapter is named "base", which means the model without any.'],
    [["a", "b", "a"], 'An adapter is named "a", like another one.'],
    [["../a", "b"], 'An adapter is named "../a", which is no file name.'],
    [["b", "a/b"], 'An adapter is named "a/b", which is no file name.'],
    [[""], 'An adapter is named "", which is no file name.'],
    [["..", "b"], 'An adapter is named "..", which is no file name.'],
  ] as const) {
    it(`refuses ${names.join()}`, async () => {
      await expect(open(...names)).rejects.toThrow(message);
    });
  }
});
