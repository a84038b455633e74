import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { readTokenizerFiles } from "../../src/io/tokenizer_folder.ts";
import { nodeFiles } from "../../src/platform/node_files.ts";

let folder = "";
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), "leyden-tokenizer-"));
});
afterEach(() => rm(folder, { recursive: true }));

const write = (name: string, value: unknown) =>
  nodeFiles.write(join(folder, name), typeof value === "string" ? value : JSON.stringify(value));

describe("tokenizer files of a folder", () => {
  it("are all that a folder says about text", async () => {
    await write("tokenizer.json", { model: {} });
    await write("tokenizer_config.json", '\ufeff{"eos_token": "e"}');
    await write("special_tokens_map.json", { bos_token: "b" });
    await write("generation_config.json", { eos_token_id: 1 });
    await write("config.json", { model_type: "llama" });
    await write("chat_template.jinja", "one");
    await write("additional_chat_templates/rag.jinja", "two");
    await write("additional_chat_templates/notes.txt", "no template");
    expect(await readTokenizerFiles(nodeFiles, folder)).toEqual({
      name: folder,
      tokenizer: { model: {} },
      tokenizerConfig: { eos_token: "e" },
      specialTokensMap: { bos_token: "b" },
      generationConfig: { eos_token_id: 1 },
      modelConfig: { model_type: "llama" },
      chatTemplates: { default: "one", rag: "two" },
    });
  });

  it("may be the tokenizer alone", async () => {
    await write("tokenizer.json", { model: {} });
    expect(await readTokenizerFiles(nodeFiles, folder)).toEqual({
      name: folder,
      tokenizer: { model: {} },
      tokenizerConfig: null,
      specialTokensMap: null,
      generationConfig: null,
      modelConfig: null,
      chatTemplates: {},
    });
  });

  it("say what is missing or broken", async () => {
    await expect(readTokenizerFiles(nodeFiles, folder)).rejects.toMatchObject({
      code: "tokenizer_missing",
      message: `${folder} has no tokenizer.json.`,
    });
    await write("tokenizer.json", { model: {} });
    await write("tokenizer_config.json", "{");
    await expect(readTokenizerFiles(nodeFiles, folder)).rejects.toMatchObject({
      code: "json",
      message: expect.stringContaining(`${join(folder, "tokenizer_config.json")} is not JSON: `),
    });
  });
});
