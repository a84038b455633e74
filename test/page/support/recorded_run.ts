/** A recorded run of any size for the studio to show: groups of rollouts with calls, rewards, breaks, failures, updates. */
import { Rng } from "../../../src/core/rng.ts";
import type { ChatRole } from "../../../src/schema/chat.ts";
import { newRollout } from "../../../src/schema/rollout.ts";
import type { CallRecord, Store, StoreEvent } from "../../../src/schema/store.ts";
import { encode, render, someLogprobs } from "./word_model.ts";

export const groupSize = 8;
export const groupsPerUpdate = 10;

/** Text that would do harm if anything of it were read as markup or code. */
export const hostile: string =
  `<img src=x onerror="globalThis.harmed='img'"><script>globalThis.harmed='script'</script>` +
  `</script></pre></textarea><svg onload=globalThis.harmed='svg'>{{constructor}} javascript:alert(1) \u202e reversed`;

interface Spoken {
  id: string;
  rollout: string;
  messages: { role: ChatRole; content: string }[];
  reply: string;
  version: number;
  at: number;
  parent?: CallRecord;
  change?: Partial<CallRecord>;
}

/** A call; one that continues another begins with its tokens. */
export function spoken({ id, rollout, messages, reply, version, at, parent, change }: Spoken): CallRecord {
  const replyIds = Int32Array.from([...encode(reply), 0]);
  const before = parent === undefined ? [] : [...parent.tokens.promptIds, ...parent.tokens.replyIds];
  const fresh = parent === undefined ? messages : messages.slice(-1);
  return {
    id,
    rolloutId: rollout,
    attemptId: "0",
    mode: "train",
    dialect: "chat_completions",
    policy: "policy",
    own: true,
    callKey: `${id}.0`,
    parent: parent?.id ?? null,
    prefixLength: before.length,
    breakReason: null,
    tokens: {
      promptIds: Int32Array.from([...before, ...render(fresh)]),
      replyIds,
      logprobs: someLogprobs(replyIds.length),
      versions: replyIds.map(() => version),
    },
    sampling: { temperature: 1 },
    overridden: { top_p: 0.9 },
    truncated: false,
    request: { model: "policy", messages },
    response: { choices: [{ index: 0, message: { role: "assistant", content: reply }, finish_reason: "stop" }] },
    server: { model: "policy", endpoint: "engine", version },
    httpStatus: 200,
    finishReason: "stop",
    retryCount: 0,
    latencyMs: 400,
    timestamp: at,
    delivery: "delivered",
    ...change,
  };
}

const names = ["Ann", "Ben", "Cho", "Dee", "Eun", "Fay"];

/** The conversation of a rollout: a task, a tool call, its result, an answer. */
function conversation(
  rollout: string,
  n: number,
  version: number,
  at: number,
  agent: string,
  breaks: boolean,
): CallRecord[] {
  const task = `${names[n % names.length]} has ${(n * 7) % 40} pens and buys ${(n * 3) % 25} more. How many pens now?`;
  const system = {
    role: "system" as const,
    content: "You are a careful assistant with a calculator. Answer with a number.",
  };
  const request = (messages: object[]) => ({ model: agent, messages });
  const messages: Spoken["messages"] = [system, { role: "user", content: task }];
  const tool = `I will add the two numbers with the calculator: add(${(n * 7) % 40}, ${(n * 3) % 25})`;
  const first = spoken({
    id: `${rollout}-1`,
    rollout,
    messages,
    reply: tool,
    version,
    at,
    change: { request: request(messages) },
  });
  const later: Spoken["messages"] = [
    ...messages,
    { role: "assistant", content: tool },
    { role: "user", content: `result: ${((n * 7) % 40) + ((n * 3) % 25)}` },
  ];
  const answer = `The answer is ${((n * 7) % 40) + ((n * 3) % 25)}.`;
  const second = spoken({
    id: `${rollout}-2`,
    rollout,
    messages: later,
    reply: answer,
    version,
    at: at + 1,
    parent: first,
    change: { request: request(later) },
  });
  if (!breaks) return [first, second];
  const edited: Spoken["messages"] = [
    { ...system, content: "Summarise the conversation so far." },
    { role: "user", content: task },
  ];
  const change = { breakReason: "edited" as const, request: request(edited) };
  return [
    first,
    second,
    spoken({
      id: `${rollout}-3`,
      rollout,
      messages: edited,
      reply: "They now have more pens.",
      version,
      at: at + 2,
      change,
    }),
  ];
}

function rolloutEvents(group: number, member: number, rng: Rng, start: number): StoreEvent[] {
  const id = `g${String(group).padStart(6, "0")}-s${member}`;
  const update = Math.floor(group / groupsPerUpdate);
  const at = start + group * 2;
  const metadata = { task: `pens-${group % 200}`, group: id.slice(0, 7), sample_idx_in_batch: member };
  const solved = rng.uniform() < 0.25 + update / 170;
  const failed = rng.uniform() < 0.02;
  const agent = group % 9 === 4 ? "planner" : "policy";
  const input = { question: group === 3 && member === 0 ? hostile : `task ${group}` };
  const calls = conversation(id, group, update, at, agent, rng.uniform() < 0.04);
  const reward = {
    event_type: "reward",
    rollout_id: id,
    attempt_id: "0",
    timestamp: at + 3,
    data: { value: solved ? 1 : rng.uniform() < 0.3 ? 0.25 : 0 },
  };
  const end = failed
    ? {
        state: "failed" as const,
        error_message: "The agent ended with exit code 1: ValueError: could not read the result",
      }
    : { state: "succeeded" as const };
  return [
    { type: "rollout_created", rollout: newRollout({ input, metadata }, id, at) },
    { type: "rollout_patched", rolloutId: id, patch: { state: "running", last_attempt_id: "0" }, at },
    ...calls.map((call): StoreEvent => ({ type: "call_recorded", call })),
    ...(failed ? [] : [{ type: "event_posted" as const, event: reward }]),
    { type: "rollout_patched", rolloutId: id, patch: end, at: at + 3 },
  ];
}

/** Id of the rollout with many calls. */
export const longRollout = "long-s0";
/** Id of the rollout whose every text is hostile. */
export const hostileRollout = "hostile-s0";

/** An agent that goes on for many turns; every tenth of its calls branches off. */
function longEvents(calls: number, at: number): StoreEvent[] {
  const rollout = newRollout(
    { input: { question: "a long task" }, metadata: { task: "long", group: "long" } },
    longRollout,
    at,
  );
  const events: StoreEvent[] = [
    { type: "rollout_created", rollout },
    { type: "rollout_patched", rolloutId: longRollout, patch: { state: "running", last_attempt_id: "0" }, at },
  ];
  let parent: CallRecord | undefined;
  const messages: Spoken["messages"] = [
    { role: "user", content: `Work through the list. ${"Item: a thing to look after with care. ".repeat(60)}` },
  ];
  for (let i = 0; i < calls; i++) {
    const reply = `Step ${i}: ${"I look at the next item and write down what I see. ".repeat(3)}`;
    const call: CallRecord = spoken({
      id: `${longRollout}-${i}`,
      rollout: longRollout,
      messages: [...messages],
      reply,
      version: 118 + (i % 3),
      at: at + i,
      ...(parent ? { parent } : {}),
    });
    events.push({ type: "call_recorded", call });
    if (i % 10 !== 9) {
      parent = call;
      messages.push({ role: "assistant", content: reply }, { role: "user", content: `Go on with item ${i + 1}.` });
    } else messages[messages.length - 1] = { role: "user", content: `Try item ${i + 1} in another way.` };
  }
  return [
    ...events,
    { type: "rollout_patched", rolloutId: longRollout, patch: { state: "succeeded" }, at: at + calls },
  ];
}

function hostileEvents(at: number): StoreEvent[] {
  const metadata = { task: hostile, group: "hostile", note: hostile };
  const rollout = newRollout({ input: { question: hostile }, metadata }, hostileRollout, at);
  const messages: Spoken["messages"] = [{ role: "user", content: hostile }];
  const call = spoken({
    id: "hostile-call",
    rollout: hostileRollout,
    messages,
    reply: hostile,
    version: 1,
    at,
    change: { policy: "policy", request: { model: hostile, messages }, overridden: { [hostile]: hostile } },
  });
  return [
    { type: "rollout_created", rollout },
    { type: "rollout_patched", rolloutId: hostileRollout, patch: { state: "running", last_attempt_id: "0" }, at },
    { type: "call_recorded", call },
    {
      type: "event_posted",
      event: {
        event_type: hostile,
        rollout_id: hostileRollout,
        attempt_id: "0",
        timestamp: at,
        data: { value: hostile },
      },
    },
    { type: "rollout_patched", rolloutId: hostileRollout, patch: { state: "failed", error_message: hostile }, at },
  ];
}

/** Records a run of `groups` groups with its updates, a rollout of 200 calls, and a hostile one. */
export async function recordRun(store: Store, groups: number, start: number): Promise<void> {
  const rng = new Rng([1, groups]);
  for (let group = 0; group < groups; group++) {
    const events = Array.from({ length: groupSize }, (_, member) => rolloutEvents(group, member, rng, start)).flat();
    if (group % groupsPerUpdate === groupsPerUpdate - 1) {
      const update = (group + 1) / groupsPerUpdate;
      const trained = Array.from({ length: groupsPerUpdate }, (_, i) => `g${String(group - i).padStart(6, "0")}`);
      events.push({
        type: "experiment",
        name: "update",
        data: { update, version: update, groups: trained },
        at: start + group * 2,
      });
    }
    await store.append(events);
  }
  await store.append(longEvents(200, start));
  await store.append(hostileEvents(start + groups * 2 + 10));
}

/** metrics.jsonl of a run that learns. */
export function recordedMetrics(updates: number, start: number, seed: number): string {
  const rng = new Rng([seed, updates]);
  const noise = (size: number): number => (rng.uniform() - 0.5) * size;
  const lines = Array.from({ length: updates }, (_, i) => {
    const learned = 1 - Math.exp(-i / (25 + 4 * seed));
    const decode = 6 + noise(1.5);
    return {
      step: i + 1,
      version: i + 1,
      time: start + i * 20,
      "training/reward": 0.2 + 0.72 * learned + noise(0.08),
      ...(i % 10 === 9 ? { "val/reward": 0.2 + 0.7 * learned + noise(0.03) } : {}),
      "actor/entropy": 0.9 * Math.exp(-i / 60) + 0.05 + noise(0.03),
      "training/signed_mass": noise(0.16),
      "perf/throughput": 880 + noise(160),
      "async/age_mean": 0.4 + noise(0.2),
      "async/age_max": i % 3,
      "response_length/training/avg_by_turn": 14 + noise(3),
      "response_length/training/max_by_turn": 24 + Math.round(noise(6)),
      "actor/grad_norm": 0.4 + noise(0.3),
      "actor/pg_clipfrac": 0.02 + noise(0.02),
      "training/n_groups": groupsPerUpdate,
      "training/n_zero_adv_groups": Math.round(6 * learned),
      "training/n_rollouts": groupsPerUpdate * groupSize,
      "training/n_rollouts_failed": i % 4 === 0 ? 2 : 0,
      "timing_s/step": decode + 4,
      "device/prefill_s": 1.1 + noise(0.4),
      "device/decode_s": decode,
      "device/train_s": 1.6 + noise(0.5),
      "device/optimizer_s": 0.2,
      "device/score_s": 0,
      "device/idle_s": 1 + noise(0.9),
    };
  });
  return lines.map((line) => `${JSON.stringify(line)}\n`).join("");
}
