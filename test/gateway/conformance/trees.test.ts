/** The session trees of the conformance plan, a to g: what belongs together is linked, and nothing else is. */
import { afterAll, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { readRollout } from "../../../src/experiment/groups.ts";
import type { CallRecord } from "../../../src/schema/store.ts";
import { itShared } from "../../shared.ts";
import { GatewayServer, type Json } from "./gateway_server.ts";
import { captured, Replay } from "./replay.ts";
import { Session, sampledCall } from "./session.ts";

const server = new GatewayServer();
beforeAll(() => server.open());
afterAll(() => server.close());

let rollout: string;
beforeEach(async () => {
  rollout = await server.rollout();
});

const links = (calls: readonly CallRecord[]) => {
  const places = new Map(calls.map(({ id }, at) => [id, at]));
  return calls.map(({ parent, breakReason }) => [parent === null ? null : places.get(parent), breakReason]);
};

/** How many ids two calls' prompts share at their beginnings. */
function shared(a: CallRecord | undefined, b: CallRecord | undefined): number {
  const [x, y] = [a?.tokens.promptIds ?? [], b?.tokens.promptIds ?? []];
  let at = 0;
  while (at < Math.min(x.length, y.length) && x[at] === y[at]) at++;
  return at;
}

async function treeOf(): Promise<Json> {
  const response = await fetch(`${server.url}/api/rollouts/${rollout}/tree`, { headers: { "x-api-key": "admin" } });
  expect(response.status).toBe(200);
  return (await response.json()) as Json;
}

describe("tree", () => {
  it("a: two interleaved conversations of nine requests are two branches without cross-links", async () => {
    const main = new Session(server, rollout, "You are the main agent.", ["Bash", "Agent"]);
    const sub = new Session(server, rollout, "You are a sub-agent.", ["Bash"], "Look it up.");
    const order = [main, main, sub, main, sub, main, sub, sub, main];
    for (const session of order) await session.turn(sampledCall("Bash", '{"command":  "echo hi"}'));
    expect(links(await server.calls(rollout))).toEqual([
      [null, null],
      [0, null],
      [null, "side"],
      [1, null],
      [2, null],
      [3, null],
      [4, null],
      [6, null],
      [5, null],
    ]);
    expect(JSON.stringify(await treeOf())).toContain(rollout);
  });

  itShared("a, as captured: the sub-agent differs by one header", "captures/index.json", async () => {
    const replay = new Replay(server, rollout, captured("claude24~agent~v2"));
    await replay.playAll();
    const calls = await server.calls(rollout);
    const agentOf = ({ request }: CallRecord) => JSON.stringify(request.tools).length;
    const byId = new Map(calls.map((call) => [call.id, call]));
    for (const call of calls) {
      const parent = byId.get(call.parent ?? "");
      if (parent) expect(agentOf(parent)).toBe(agentOf(call));
    }
    expect(calls.filter(({ parent }) => parent === null).map(({ breakReason }) => breakReason)).toEqual([null, "side"]);
  });

  itShared(
    "b: an agent used as a tool shares key and headers, and is told apart by content",
    "captures/index.json",
    async () => {
      const replay = new Replay(server, rollout, captured("agents-responses"));
      await replay.playAll();
      const calls = await server.calls(rollout);
      const byId = new Map(calls.map((call) => [call.id, call]));
      const continued = calls.filter(({ parent }) => parent !== null);
      expect(continued.length).toBeGreaterThan(8);
      for (const call of continued) {
        const parent = byId.get(call.parent ?? "");
        expect([parent?.request.instructions, parent?.request.tools]).toEqual([
          call.request.instructions,
          call.request.tools,
        ]);
      }
    },
  );

  itShared("c: a handoff shares messages, not tokens", "captures/index.json", async () => {
    const session = captured("agents-responses").slice(0, 3);
    const replay = new Replay(server, rollout, session);
    await replay.playAll();
    const [before, after, next] = await server.calls(rollout);
    expect(after?.request.instructions).not.toBe(before?.request.instructions);
    expect([after?.parent, after?.breakReason]).toEqual([null, "edited"]);
    expect(next?.parent).toBe(after?.id);
    const whole = before?.tokens.promptIds.length ?? 0;
    expect(shared(before, after)).toBeLessThan(whole);
    const firstItems = [before, after].map((call) => (call?.request.input as Json[] | undefined)?.[0]);
    expect(firstItems[0]).toEqual(firstItems[1]);
  });

  it("d: two requests in flight from one reply are its two children, one of them a summary", async () => {
    const main = new Session(server, rollout, "You are the agent.", ["bash"]);
    await main.turn(sampledCall("bash"));
    const summary = { role: "user", content: "Please create a detailed summary of the conversation so far." };
    await Promise.all([main.ask("It is done."), main.ask("They said hi.", [summary])]);
    const calls = await server.calls(rollout);
    expect(links(calls)).toEqual([
      [null, null],
      [0, null],
      [0, null],
    ]);
    const onSummary = new Session(server, rollout, "You are the agent.", ["bash"]);
    onSummary.messages.push({ role: "user", content: "Summary: They said hi." });
    await onSummary.ask("Going on.");
    expect(links(await server.calls(rollout))[3]?.[0]).toBeNull();
  });

  itShared(
    "e: a reply that is dropped is a leaf, and the next prompt extends the prompt",
    "captures/index.json",
    async () => {
      const session = captured("mini~mini~badargs").map(({ dialect, body }) => ({ dialect, body }));
      const [first] = session;
      if (!first) throw new Error("the session is empty");
      const before = { ...first, body: { ...first.body, messages: (first.body.messages as Json[]).slice(0, 2) } };
      const replay = new Replay(server, rollout, []);
      for (const request of [before, ...session]) await replay.play(request);
      const calls = await server.calls(rollout);
      expect(calls.every(({ parent }) => parent === null)).toBe(true);
      expect(calls.map(({ breakReason }) => breakReason)).toEqual([null, "edited", "edited"]);
      // All of the prompt but what opens the reply.
      const opening = server.engine.decode(calls[0]?.tokens.promptIds.slice(shared(calls[0], calls[1])) ?? []);
      expect(opening).toBe("assistant\n");
      expect(server.engine.decode(calls[1]?.tokens.promptIds.slice(shared(calls[1], calls[2])) ?? [])).toBe(
        "assistant\n",
      );
    },
  );

  itShared("f: a title is no part of the conversation", "captures/index.json", async () => {
    const replay = new Replay(server, rollout, captured("opencode"));
    await replay.playAll();
    const calls = await server.calls(rollout);
    expect(links(calls)).toEqual([
      [null, null],
      [null, "side"],
      [1, null],
      [2, null],
    ]);
  });

  it("g: a partial reply that the harness keeps is continued as far as it goes, and never trained whole", async () => {
    const sampled = `I will do it, and more than that.\n${sampledCall("Bash")}`;
    const body = {
      system: "You are the agent.",
      messages: [{ role: "user", content: "Say hi." }] as Json[],
      tools: [{ name: "Bash", input_schema: { type: "object" } }],
      max_tokens: 99,
    };
    const post = (more: Json) =>
      server.app.request(`http://x/r/${rollout}/0/train/v1/messages`, {
        method: "POST",
        body: JSON.stringify({ ...body, ...more }),
        headers: { "x-api-key": "admin" },
      });
    server.engine.texts.push(sampled, "Resumed.");
    const cut = await post({ stream: true });
    const reader = cut.body?.getReader();
    await reader?.read();
    await reader?.cancel();
    await expect.poll(async () => (await server.calls(rollout))[0]?.delivery).toBe("abandoned");
    const partial = { role: "assistant", content: [{ type: "text", text: "I will do it, and" }] };
    const resume = { role: "user", content: "Your response was cut off. Resume." };
    const next = await post({ messages: [...body.messages, partial, resume] });
    expect(next.status).toBe(200);
    await next.text();
    const [first, second] = await server.calls(rollout);
    expect([second?.parent, second?.breakReason]).toEqual([first?.id, null]);
    const kept = (second?.prefixLength ?? 0) - (first?.tokens.promptIds.length ?? 0);
    const whole = first?.tokens.replyIds.length ?? 0;
    expect([kept > 0, kept < whole]).toEqual([true, true]);
    expect(server.engine.decode(first?.tokens.replyIds.slice(0, kept) ?? [])).toBe("I will do it, and");
    expect(server.promptText(second)).toContain("I will do it, and<|im_end|>");
    const { calls } = await readRollout(server.store, rollout);
    expect(calls.map(({ excluded }) => excluded)).toEqual(["abandoned", undefined]);
  });
});
