/** Facts 43 to 56 of the conformance plan: Responses. */
import { afterAll, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { itShared } from "../../shared.ts";
import { dataOf, GatewayServer, type Json } from "./gateway_server.ts";
import { captured, Replay } from "./replay.ts";
import { failed, nextDraw } from "./requests.ts";
import { wires } from "./wires.ts";

const server = new GatewayServer();
beforeAll(() => server.open());
afterAll(() => server.close());

const path = "/v1/responses";
const tool = { type: "function", name: "calc", parameters: { type: "object" } };
const call = '<tool_call>\n{"name": "calc", "arguments": {"a":  1}}\n</tool_call>';
const user = (content: string) => ({ type: "message", role: "user", content });

let rollout: string;
beforeEach(async () => {
  rollout = await server.rollout();
});

type Answer = Json & { id: string; output: (Json & { id: string; type: string })[] };

const ask = async (body: Json) => (await server.json(rollout, path, { tools: [tool], ...body })) as Answer;
const result = ({ output }: Answer): Json => ({
  type: "function_call_output",
  call_id: output.find(({ type }) => type === "function_call")?.call_id,
  output: "5",
});

async function expectContinued(): Promise<void> {
  const [first, second] = (await server.calls(rollout)).slice(-2);
  expect([second?.parent, second?.breakReason]).toEqual([first?.id, null]);
}

describe("fact", () => {
  it("43 and 45: a stream's events are numbered, named after their types, and the last holds the output", async () => {
    server.engine.texts.push(`<think>\nHm.\n</think>\n\nI add.\n${call}`);
    const { text } = await server.post(rollout, path, { input: "hi", tools: [tool], stream: true });
    const names = [...text.matchAll(/^event: (.*)$/gm)].map(([, name]) => name);
    const events = dataOf(text);
    expect(events.map(({ type }) => type)).toEqual(names);
    expect(events.map(({ sequence_number: n }) => n)).toEqual(events.map((_, at) => at));
    expect(names.slice(0, 3)).toEqual(["response.created", "response.in_progress", "response.output_item.added"]);
    const count = (name: string) => names.filter((one) => one === name).length;
    expect([count("response.output_item.added"), count("response.output_item.done")]).toEqual([3, 3]);
    const last = events.at(-1) as { type: string; response: Answer };
    expect(last.type).toBe("response.completed");
    expect(last.response.output.map(({ type }) => type)).toEqual(["reasoning", "message", "function_call"]);
  });

  it("44: a stream always has its terminal event, a cut reply's is response.incomplete", async () => {
    for (const [more, type] of [
      [{}, "response.completed"],
      [{ max_output_tokens: 1 }, "response.incomplete"],
    ] as const) {
      server.engine.texts.push("a long reply");
      server.engine.finish = "max_output_tokens" in more ? "length" : "stop";
      const { text } = await server.post(rollout, path, { input: "hi", stream: true, ...more });
      expect(dataOf(text).at(-1)?.type).toBe(type);
    }
    server.engine.finish = "stop";
  });

  it("46: a failure has an HTTP status of its own", async () => {
    nextDraw(server, failed);
    const { status, text } = await server.post(rollout, path, { input: "hi", stream: true });
    expect([status, JSON.parse(text)]).toMatchObject([500, { error: { code: "internal", type: "server_error" } }]);
    server.faults.length = 0;
  });

  it("47: input is a text or items, with a type or without, of every role", async () => {
    await ask({ input: "hi" });
    await ask({
      input: [
        { role: "system", content: "s" },
        { role: "developer", content: [{ type: "input_text", text: "d" }] },
        { role: "user", content: "u" },
        { role: "assistant", content: [{ type: "output_text", text: "a", annotations: [] }] },
        {
          type: "message",
          role: "user",
          content: [{ type: "input_text", text: "v" }],
          status: "completed",
          id: "msg_x",
        },
      ],
    });
    const [, second] = await server.calls(rollout);
    expect(server.promptText(second)).toMatch(/s[\s\S]*d[\s\S]*u[\s\S]*a[\s\S]*v/);
  });

  it("48: instructions, developer messages and system items are the same tokens", async () => {
    const bodies: Json[] = [
      { instructions: "be good", input: [user("hi")] },
      { input: [{ role: "developer", content: "be good" }, user("hi")] },
      { input: [{ role: "system", content: "be good" }, user("hi")] },
    ];
    const prompts: string[] = [];
    for (const body of bodies) {
      rollout = await server.rollout();
      await ask(body);
      prompts.push(server.promptText((await server.calls(rollout))[0]).replace("developer", "system"));
    }
    expect(new Set(prompts).size).toBe(1);
  });

  it("49: item references are resolved within the session, and unknown ones named", async () => {
    server.engine.texts.push(`<think>\nHm.\n</think>\n\nI add.\n${call}`, "done");
    const first = await ask({ input: [user("hi")] });
    const references = first.output.map(({ id, type }) =>
      type === "function_call" ? null : { type: "item_reference", id },
    );
    const called = first.output.find(({ type }) => type === "function_call") as Json;
    await ask({ input: [user("hi"), ...references.filter((one) => one !== null), called, result(first)] });
    await expectContinued();
    const { status, text } = await server.post(rollout, path, { input: [{ type: "item_reference", id: "msg_zz" }] });
    expect([status, text]).toEqual([400, expect.stringMatching(/item_not_found.*|msg_zz/)]);
    const other = await server.rollout();
    const foreign = await server.post(other, path, { input: [user("x"), references[0]] });
    expect(foreign.status).toBe(400);
  });

  it("50: previous_response_id stands for everything said before", async () => {
    server.engine.texts.push(call, "done");
    const first = await ask({ input: "hi", instructions: "be" });
    await ask({ previous_response_id: first.id, input: [result(first)], instructions: "be" });
    await expectContinued();
    const { status, text } = await server.post(rollout, path, { previous_response_id: "resp_00", input: "x" });
    expect([status, text]).toEqual([400, expect.stringContaining("previous_response_not_found")]);
  });

  it("51: encrypted reasoning comes back and carries the call, whatever became of the rest", async () => {
    server.engine.texts.push("<think>\nHm.\n</think>\n\nDone.", "more");
    const include = ["reasoning.encrypted_content"];
    const first = await ask({ input: [user("hi")], store: false, include });
    const [thought, said] = first.output;
    expect(atob(String(thought?.encrypted_content))).toBe(`leyden-call:${first.id.slice("resp_".length)}`);
    const back = { type: "reasoning", summary: [], content: null, encrypted_content: thought?.encrypted_content };
    await ask({ input: [user("hi"), back, { ...said, id: undefined }, user("go on")], store: false, include });
    await expectContinued();
  });

  it("52: items with other ids, or none, are found by their call's id", async () => {
    for (const id of ["fc_call_other", undefined]) {
      rollout = await server.rollout();
      server.engine.texts.push(call, "done");
      const first = await ask({ input: [user("hi")] });
      const [made] = first.output;
      await ask({ input: [user("hi"), { ...made, id, arguments: '{"a":1}' }, result(first)] });
      await expectContinued();
    }
  });

  it("53: functions of a namespace are offered, and their calls name it; other tools are left out", async () => {
    const tools = [
      { type: "namespace", name: "n", tools: [tool] },
      { type: "web_search" },
      { type: "custom", name: "c" },
    ];
    server.engine.texts.push(call, "done");
    const first = await ask({ input: [user("hi")], tools });
    expect(first.output).toMatchObject([{ type: "function_call", name: "calc", namespace: "n" }]);
    await ask({ input: [user("hi"), ...first.output, result(first)], tools });
    await expectContinued();
    const [recorded] = await server.calls(rollout);
    expect(Object.keys(recorded?.overridden ?? {})).toEqual(["tools.web_search", "tools.custom"]);
  });

  it("54: empty settings are taken", async () => {
    await ask({
      input: "hi",
      text: {},
      include: [],
      reasoning: { summary: "auto" },
      metadata: {},
      service_tier: "auto",
    });
    expect((await server.calls(rollout))[0]?.overridden).toEqual({});
  });

  it("55: a format of text is given to the engine as a constraint", async () => {
    const schema = { type: "object", properties: { a: { type: "number" } } };
    await ask({ input: "hi", tools: [], text: { format: { type: "json_schema", name: "n", strict: true, schema } } });
    expect(server.engine.requests.at(-1)?.constraint).toEqual({ kind: "json_schema", schema });
  });

  itShared(
    "56: a summary that is asked for is a branch, and what goes on from it is new",
    "captures/index.json",
    async () => {
      const [asking, after] = captured("codex~huge~turns4~u990000").map(({ body }) => body);
      if (!asking || !after) throw new Error("two requests are needed");
      const wire = wires.responses as NonNullable<(typeof wires)["responses"]>;
      const input = structuredClone(asking.input) as Json[];
      input[input.length - 1] = { role: "user", content: "CONTEXT CHECKPOINT COMPACTION. Summarise the work." };
      const tools = after.tools;
      const summary = "The user asked for a greeting.\nIt was printed with echo.\nThe README was read.";
      const replay = new Replay(server, rollout, captured("codex~huge~turns4~u990000"));
      await replay.play({ dialect: "responses", body: { ...asking, tools, input: input.slice(0, -1) } });
      await replay.send(wire, { ...asking, input }, summary);
      const next = (after.input as Json[]).slice(0, -1);
      await replay.send(
        wire,
        { ...after, input: [...next, { role: "user", content: `Summary so far:\n${summary}` }] },
        "ok",
      );
      const calls = await server.calls(rollout);
      expect(calls.map(({ parent, breakReason }) => [parent === null, breakReason]).slice(-2)).toEqual([
        [true, "compaction"],
        [true, "compaction"],
      ]);
      expect(calls.slice(1, -2).every(({ parent }) => parent !== null)).toBe(true);
    },
  );

  itShared("43 to 56, as codex, pi, AI SDK and the agents SDK have them", "captures/index.json", async () => {
    const names = ["codex", "codex~fid~reason", "codex~par", "codex~res", "codex~badargs", "ai7f-oai~fid~reason"];
    for (const name of [...names, "pi24-openai-responses~fid~reason", "opencode-oai", "mini-resp~mini"]) {
      const replay = new Replay(server, await server.rollout(), captured(name));
      await replay.playAll();
      const calls = await server.calls(replay.rollout);
      const links = calls.map(({ parent, breakReason }) => [parent, breakReason]);
      expect(links, name).toEqual(calls.map((_, at) => [calls[at - 1]?.id ?? null, null]));
    }
  });
});
