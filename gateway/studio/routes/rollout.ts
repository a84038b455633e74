import { hex } from "../../../src/core/clock.ts";
import type { StudioRollout, StudioScore } from "../../../src/schema/studio_api.ts";
import { pathParam, queryOf } from "../../context.ts";
import { DetailError } from "../../http/errors.ts";
import type { Routes } from "../../http/routes.ts";
import { fullCall } from "../call_view.ts";
import { conversationBefore } from "../fork_prompt.ts";
import { forksOf } from "../forks.ts";
import type { Studio } from "../studio.ts";
import { finite } from "../token_text.ts";

/** A rollout; with `tokens`, its calls have theirs, each those after what it shares with the call before. */
export async function studioRollout(studio: Studio, id: string, tokens: boolean): Promise<StudioRollout> {
  const { store } = studio.gateway;
  const { rollout, calls, lines, tree } = await studio.rollouts.get(id);
  const { rows } = await store.summaries({ limit: 1, ids: [id] });
  const [line] = await studio.lines(rows);
  if (line === undefined) throw new DetailError(404, `Rollout not found: ${id}`);
  const shown = tokens
    ? calls.map((call, i) => {
        const own = lines[i] as (typeof lines)[number];
        return fullCall(call, own, own.prefix, studio.tokenBytes(call.policy));
      })
    : [...lines];
  const [failures, events, forks] = await Promise.all([store.failures(id), store.posted(id), forksOf(store, id)]);
  return { line, input: rollout.input, metadata: rollout.metadata, calls: shown, failures, events, tree, forks };
}

export function addRolloutRoutes(routes: Routes, studio: Studio): void {
  const { gateway } = studio;
  const one = "/studio/api/rollouts/:rollout_id";
  routes.add("GET", one, "A rollout call by call", async (c) => {
    await gateway.requireAdmin(c);
    return Response.json(await studioRollout(studio, pathParam(c, "rollout_id"), queryOf(c).get("tokens") === "true"));
  });

  routes.add("GET", `${one}/calls/:call_id`, "A call with its tokens", async (c) => {
    await gateway.requireAdmin(c);
    const { recorded, call, index } = await studio.rollouts.call(pathParam(c, "rollout_id"), pathParam(c, "call_id"));
    const line = recorded.lines[index] as (typeof recorded.lines)[number];
    const from = queryOf(c).get("whole") === "true" ? 0 : line.prefix;
    const messages = conversationBefore(recorded, index)?.messages;
    const full = fullCall(call, line, from, studio.tokenBytes(call.policy));
    return Response.json({ ...full, messages: messages ?? full.messages });
  });

  routes.add("GET", `${one}/calls/:call_id/score`, "What the present weights say of a reply", async (c) => {
    await gateway.requireAdmin(c);
    const { call } = await studio.rollouts.call(pathParam(c, "rollout_id"), pathParam(c, "call_id"));
    const model = studio.model(call.policy);
    if (model === null || model.policy === "null" || !call.own)
      throw new DetailError(409, "No model is served that drew this call");
    const { promptIds, replyIds } = call.tokens;
    const ids = new Int32Array(promptIds.length + replyIds.length);
    ids.set(promptIds);
    ids.set(replyIds, promptIds.length);
    const temperature = Number(call.sampling.temperature ?? 1) || 1;
    const id = `score-${hex(gateway.deps.entropy.bytes(8))}`;
    const { version } = await model.engine.info();
    const { logprobs, entropies } = await model.engine.score({ id, ids, temperature });
    const answer: StudioScore = {
      version,
      logprobs: Array.from(logprobs.subarray(promptIds.length), finite),
      entropies: Array.from(entropies.subarray(promptIds.length), finite),
    };
    return Response.json(answer);
  });
}
