import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { pathFrom } from "../../src/app/config_paths.ts";
import { importModule } from "../../src/app/load_config.ts";
import { loadCompletion, loadDataset, loadHooks } from "../../src/app/load_modules.ts";
import { nodeFiles } from "../../src/platform/node_files.ts";

let folder = "";
let modules = 0;
const load = (path: string): Promise<Record<string, unknown>> =>
  importModule(nodeFiles, pathFrom(nodeFiles, folder, path));

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "leyden-modules-"));
});
afterAll(() => rm(folder, { recursive: true, force: true }));

/** Loads a dataset module with this text. */
async function dataset(text: string): ReturnType<typeof loadDataset> {
  const name = `m${modules++}.mjs`;
  await writeFile(join(folder, name), text);
  return loadDataset(load, name);
}

const good = '{ id: "a", input: {}, hidden: {} }';

describe("loadDataset", () => {
  it("gives the dataset, its methods bound", async () => {
    const text = `class Data { heldOut = [${good}]; row = ${good};
      train(seed) { const row = this.row; return { length: 7, n: seed, at(i) { return { ...row, id: "t" + (this.n + i) }; } }; } }
      export const dataset = new Data();`;
    const { train, heldOut } = await dataset(text);
    expect(heldOut).toEqual([{ id: "a", input: {}, hidden: {} }]);
    const stream = train(3);
    expect(stream.at(4)).toEqual({ id: "t7", input: {}, hidden: {} });
    expect(stream.length).toBe(7);
  });

  it("names modules that are not there or have a fault", async () => {
    const missing = loadDataset(load, "nowhere.mjs");
    await expect(missing).rejects.toMatchObject({
      code: "config",
      message: expect.stringMatching(/nowhere\.mjs could not be loaded: /),
    });
    await expect(dataset("export const dataset = {")).rejects.toMatchObject({ code: "config" });
    await expect(dataset("throw new Error('early')")).rejects.toThrow(/could not be loaded: early/);
    await expect(loadHooks(load, "nowhere.mjs")).rejects.toMatchObject({ code: "config" });
  });

  it("names what a dataset lacks", async () => {
    for (const text of ["export const dataset = null;", "export const dataset = { train() {} };"]) {
      await expect(dataset(text)).rejects.toThrow(/lacks train\(seed\) or heldOut/);
    }
    await expect(dataset("export const dataset = { train() {}, heldOut: [{ id: 1 }] };")).rejects.toThrow(
      /heldOut\[0\] of m\d+\.mjs is no task: it needs id \(a text\), input and hidden \(objects\)\./,
    );
  });

  it("turns what its functions throw or return amiss into errors with their place", async () => {
    const stream = (at: string) => `export const dataset = { heldOut: [], train: () => ({ length: 1, at: ${at} }) };`;
    const thrower = await dataset(stream("(i) => { throw new Error('no row ' + i); }"));
    expect(() => thrower.train(1).at(5)).toThrow(/^train\(1\)\.at\(5\) of m\d+\.mjs threw: no row 5$/);
    const wrong = await dataset(stream("() => ({ question: 1 })"));
    expect(() => wrong.train(1).at(0)).toThrow(/train\(1\)\.at\(0\) of m\d+\.mjs is no task/);
    const none = await dataset("export const dataset = { heldOut: [], train() {} };");
    expect(() => none.train(2)).toThrow(/train\(2\) of m\d+\.mjs returned no TaskStream/);
    const early = await dataset("export const dataset = { heldOut: [], train() { throw new Error('no seed'); } };");
    expect(() => early.train(2)).toThrow(/train\(2\) of m\d+\.mjs threw: no seed/);
  });
});

describe("loadCompletion", () => {
  const reply = { task: { id: "a", input: {}, hidden: {} }, text: "x", tokens: ["x", "<end>"], stopped: true };

  /** Loads a module whose prompt and reward functions have these texts. */
  async function completion(reward: string, prompt = '() => "p"'): ReturnType<typeof loadCompletion> {
    const name = `m${modules++}.mjs`;
    const text = `export const completion = { maxTokens: 2, prompt: ${prompt}, reward: ${reward} };`;
    await writeFile(join(folder, name), text);
    return loadCompletion(load, name);
  }

  it("passes on numbers, and one per token, be they such as count as no reward", async () => {
    for (const [text, value] of [
      ["0.5", 0.5],
      ["NaN", Number.NaN],
      ["[0, 1]", [0, 1]],
      ["[NaN, 1]", [Number.NaN, 1]],
    ] as const) {
      expect((await completion(`() => (${text})`)).reward(reply)).toEqual(value);
    }
  });

  it("names the module whose functions throw or return something else", async () => {
    for (const [text, what] of [
      ['"0.5"', '"0.5", which is no number'],
      ["undefined", "undefined, which is no number"],
      ["Promise.resolve(1)", "a promise, which is no number"],
      ["({ value: 1 })", "a value of type object, which is no number"],
      ['[1, "1"]', 'an array whose item 1 is "1", which is no number'],
      ["[1]", "1 numbers for a reply of 2 tokens"],
    ]) {
      const task = await completion(`() => (${text})`);
      const found = (() => {
        try {
          return task.reward(reply);
        } catch (error) {
          return error as { code: string; message: string; do: string };
        }
      })();
      expect(found).toMatchObject({
        code: "config",
        message: expect.stringMatching(/^reward of m\d+\.mjs returned /),
        do: "Return a number, or an array of one number per token.",
      });
      expect((found as { message: string }).message.replace(/^.* returned /, "")).toBe(`${what}.`);
    }
    const thrower = await completion('() => { throw new Error("no key"); }');
    expect(() => thrower.reward(reply)).toThrow(/^reward of m\d+\.mjs threw: no key$/);
    const silent = await completion("() => 1", "() => {}");
    expect(() => silent.prompt({})).toThrow(/^prompt of m\d+\.mjs returned undefined, which is no text\.$/);
  });
});
