// Plan: a call asked again as it was, with other messages, with other tokens; verbatim prefixes; kept beside the record and
// never trained; refusals.
import { describe, expect, it } from "vitest";
import { RunView } from "../../src/experiment/run_view.ts";
import type { StudioFork } from "../../src/schema/studio_api.ts";
import { codes, configOf, finished, StudioWorld, spoken } from "./studio_world.ts";

async function world(): Promise<StudioWorld> {
  const made = new StudioWorld();
  await made.store.append([...finished("r", "g", 1, "yes", "hello"), ...finished("s", "g", 0, "no", "hello")]);
  return made;
}

const fork = async (made: StudioWorld, body: unknown, call = "r-c") => {
  const answer = await made.post(`rollouts/r/calls/${call}/fork`, body);
  return { status: answer.status, fork: answer.body as unknown as StudioFork };
};

const prompt = "[user]hello[assistant]";

describe("a fork", () => {
  it("asks the same prompt again with the recorded temperature and shows what came", async () => {
    const made = await world();
    made.engine.script = () => 'again <call>add {"a":1}</call>';
    const { status, fork: made1 } = await fork(made, {});
    expect(status).toBe(200);
    expect(made1).toMatchObject({
      rollout: "r",
      call: "r-c",
      kind: "same",
      temperature: 1,
      promptTokens: prompt.length,
      kept: prompt.length,
      changed: { ids: [], texts: [] },
      finishReason: "stop",
      message: {
        role: "assistant",
        content: "again ",
        tool_calls: [{ function: { name: "add", arguments: '{"a":1}' } }],
      },
    });
    expect(made1.reply.texts.join("")).toBe('again <call>add {"a":1}</call><stop>');
    expect(made1.reply.logprobs).toHaveLength(made1.reply.ids.length);
    expect(made.engine.requests.at(-1)?.sampling).toEqual({ temperature: 1, topK: 0, topP: 1, minP: 0 });
  });

  it("takes other messages, what is unchanged keeping its tokens, and other settings", async () => {
    const made = await world();
    const messages = [{ role: "user", content: "help" }];
    const { fork: changed } = await fork(made, { messages, temperature: 0, maxTokens: 1 });
    expect(changed).toMatchObject({
      kind: "messages",
      temperature: 0,
      kept: "[user]hel".length,
      finishReason: "length",
    });
    expect(changed.changed.texts.join("")).toBe("p[assistant]");
    expect(changed.reply.ids).toHaveLength(1);
  });

  it("cuts prompt and reply after a token, puts text there, or takes ids as they are", async () => {
    const made = await world();
    const { fork: cut } = await fork(made, { keep: prompt.length + 1, insert: "up" });
    expect(cut).toMatchObject({ kind: "tokens", kept: prompt.length + 1, promptTokens: prompt.length + 3 });
    expect(cut.changed.texts.join("")).toBe("up");
    expect([...(made.engine.requests.at(-1)?.promptIds ?? [])]).toEqual(codes(`${prompt}yup`));
    const { fork: raw } = await fork(made, { ids: [1, 2, 3] });
    expect(raw).toMatchObject({ kind: "tokens", kept: 0, promptTokens: 3 });
  });

  it("is kept with its rollout, and changes neither record, group nor any other draw", async () => {
    const made = await world();
    const before = await made.get("groups/g");
    const calls = await made.store.calls("r");
    const { fork: kept } = await fork(made, {});
    await fork(made, {});
    expect(await made.store.calls("r")).toEqual(calls);
    expect(await made.get("groups/g")).toEqual(before);
    const { forks } = (await made.get("rollouts/r")).body as { forks: StudioFork[] };
    expect(forks).toHaveLength(2);
    expect(forks[0]).toEqual(kept);
    const [first, second] = made.engine.requests.map(({ key }) => key.join());
    expect(first).not.toBe(second);
  });

  it("refuses what is no prompt, what is not there, and where no model is", async () => {
    const made = await world();
    expect(await fork(made, { keep: 999 })).toMatchObject({
      status: 422,
      fork: { detail: `The call has ${prompt.length + 4} tokens; it cannot keep 999 of them` },
    });
    expect((await fork(made, { keep: 0 })).status).toBe(422);
    expect((await fork(made, { messages: [] })).status).toBe(422);
    expect((await fork(made, { temperature: -1 })).status).toBe(422);
    expect((await fork(made, { what: 1 })).status).toBe(422);
    expect((await fork(made, {}, "none")).status).toBe(404);
    made.engine.contextLength = prompt.length;
    expect((await fork(made, {})).status).toBe(400);
    const { store, files } = made;
    const studio = new RunView({ store, files, runFolder: "", name: "x", config: configOf() });
    const finishedRun = new StudioWorld({ model: null, store, studio });
    expect(await fork(finishedRun, {})).toMatchObject({
      status: 409,
      fork: { detail: "No model is served that could answer" },
    });
  });

  it("refuses ids that are none, and more than one kind of change", async () => {
    const made = await world();
    for (const ids of [[2 ** 31], [2 ** 32 + 1], [-1], [1.5], []]) {
      expect((await fork(made, { ids })).status, String(ids)).toBe(422);
    }
    expect((await fork(made, { ids: [2 ** 31 - 1] })).status).toBe(200);
    const messages = [{ role: "user", content: "help" }];
    for (const changes of [
      { messages, ids: [1] },
      { messages, keep: 1 },
      { messages, insert: "x" },
      { ids: [1], keep: 1 },
      { ids: [1], insert: "x" },
      { messages, ids: [1], keep: 1, insert: "x" },
    ]) {
      const { status, fork: refused } = await fork(made, changes);
      expect([status, refused]).toMatchObject([
        422,
        { detail: [{ type: "value_error", loc: ["body"], msg: "Give messages, ids, or keep and insert" }] },
      ]);
    }
    expect(await fork(made, { maxTokens: "9", temperature: "1" })).toMatchObject({
      status: 422,
      fork: {
        detail: [
          { type: "float_type", loc: ["body", "temperature"], msg: "Input should be a valid number", input: "1" },
          { type: "int_type", loc: ["body", "maxTokens"], msg: "Input should be a valid integer", input: "9" },
        ],
      },
    });
    expect(made.engine.requests).toHaveLength(1);
    expect(made.faults).toEqual([]);
  });

  it("continues earlier calls verbatim where their messages are unchanged", async () => {
    const made = new StudioWorld();
    // The first reply was sampled as tokens that its text would not be encoded to.
    const first = spoken("k1", "r", "a", "odd");
    first.tokens.replyIds = Int32Array.from([...codes("odd"), 0]);
    const ids = [...first.tokens.promptIds, ...first.tokens.replyIds, ...codes("[user]b[assistant]")];
    const messages = [
      { role: "user", content: "a" },
      { role: "assistant", content: "odd" },
      { role: "user", content: "b" },
    ];
    const second = {
      ...spoken("k2", "r", "", "end", { parent: "k1", prefixLength: first.tokens.promptIds.length + 4 }),
      request: { model: "policy", messages },
    };
    second.tokens = { ...second.tokens, promptIds: Int32Array.from(ids) };
    await made.store.append([
      ...finished("r", "g", 1).slice(0, 2),
      { type: "call_recorded", call: first },
      { type: "call_recorded", call: second },
    ]);
    const edited = messages.map((message, i) => (i === 2 ? { ...message, content: "c" } : message));
    const { fork: changed } = await fork(made, { messages: edited }, "k2");
    expect(changed.kept).toBe(ids.length - "b[assistant]".length);
    expect(changed.changed.texts.join("")).toBe("c[assistant]");
  });
});
