/**
 * Every captured session of every harness, over HTTP: no request is refused but those that must be, every turn continues
 * the one before by its exact tokens, and every break has a name.
 */
import { afterAll, beforeAll, describe, expect } from "vitest";
import { itShared } from "../../shared.ts";
import { GatewayServer } from "./gateway_server.ts";
import { type Capture, Replay, readCaptures } from "./replay.ts";
import { wires } from "./wires.ts";

const server = new GatewayServer();
beforeAll(() => server.open());
afterAll(() => server.close());

/** Requests that are no calls of a model, or that must be refused. */
function isPlayed({ dialect, path, body }: Capture): boolean {
  return dialect in wires && !path.includes("count_tokens") && !body.thread && body.previous_response_id === undefined;
}

/** Why the conversations of a session begin, in their order, where there are several; a session has one otherwise. */
const beginnings: Readonly<Record<string, readonly (string | null)[]>> = {
  // The summary that is asked for, and the conversation on it; their words are filler in the captures.
  "codex codex~huge~turns4~u990000": [null, "edited", "edited"],
  "claude-code claude24~huge~turns4~u990000": [null, "side"],
  "opencode opencode~huge~turns5~u125000": [null, "side"],
  "claude-code claude24~agent~v2": [null, "side"],
  // The title comes first.
  "opencode opencode": [null, "side"],
  // A reply that is no call is dropped.
  "mini-swe-agent mini~mini~badargs": [null, "edited"],
  // The rest are programs that probe, and send the same first message with other tools and settings.
  "openai-sdk oai-sdk": [null, null, "edited", null, "edited", null, "edited", "edited", null, "side"],
  "anthropic-sdk anth-sdk": [null, "edited", "edited", null],
  "ai-sdk-7 ai7-comp": [null, null, "edited", "side", null],
  "ai-sdk-7 ai7-oai": [null, null, "edited", "side", null, null, null, null],
  "ai-sdk-7 ai7-anth": [null, null],
  "openai-agents agents-responses": [null, "edited", "edited", "side", null, "side", null, null, "side"],
  "openai-agents agents-chat_completions": [null, "edited", "edited", "side", null, "side", null, null, "side"],
  "langchain lang-chat": [null, null, "side", "edited", "side", null, null],
  "langchain lang-resp": [null, null],
  "langchain lang-anth": [null, null],
};

describe("captured sessions", () => {
  itShared(
    "are answered, and continue by their exact tokens",
    "captures/index.json",
    async () => {
      const sessions = Map.groupBy(
        readCaptures().filter(isPlayed),
        ({ file, scenario }) => `${file.split("/")[0]} ${scenario}`,
      );
      expect(sessions.size).toBeGreaterThan(40);
      const found: Record<string, (string | null)[]> = {};
      let continued = 0;
      for (const [name, requests] of sessions) {
        const replay = new Replay(server, await server.rollout(), requests);
        await replay.playAll();
        const calls = await server.calls(replay.rollout);
        const byId = new Map(calls.map((call) => [call.id, call]));
        for (const { parent: parentId, prefixLength, tokens } of calls) {
          const parent = byId.get(parentId ?? "");
          const said = parent ? [...parent.tokens.promptIds, ...parent.tokens.replyIds] : [];
          expect([...tokens.promptIds.slice(0, prefixLength)], name).toEqual(said);
          continued += parent ? 1 : 0;
        }
        const roots = calls.filter(({ parent }) => parent === null).map(({ breakReason }) => breakReason);
        if (roots.length > 1) found[name] = roots;
      }
      expect(found).toEqual(beginnings);
      expect(continued).toBeGreaterThan(100);
      expect(server.faults).toEqual([]);
    },
    120_000,
  );
});
