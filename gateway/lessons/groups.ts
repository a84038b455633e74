/** What lessons read of a run: its trained groups, call by call, with the text of every token. */
import { earnedBy } from "../../src/schema/earned.ts";
import type { LessonCall, LessonGroup, LessonRollout } from "../../src/schema/lesson.ts";
import type { CallRecord, Store } from "../../src/schema/store.ts";
import { eventTypes, type Rollout } from "../../src/schema/wire.ts";

/** How tokens are text, and text tokens. */
export interface LessonCodec {
  readonly stopIds: readonly number[];
  tokenText(id: number): string;
  encodeText(text: string, continues: boolean): ArrayLike<number> | Promise<ArrayLike<number>>;
}

/** An update and the groups it trained, as the loop notes it. */
interface NotedUpdate {
  update: number;
  groups: string[];
}

/** Every update once; a resumed run may have noted one twice, and the later note counts. */
async function notedUpdates(store: Store): Promise<NotedUpdate[]> {
  const notes = (await store.notes("update")).map(({ data }) => data as NotedUpdate);
  return [...new Map(notes.map((noted) => [noted.update, noted])).values()];
}

async function lessonCall(call: CallRecord, codec: LessonCodec): Promise<LessonCall> {
  const replyIds = Array.from(call.tokens.replyIds);
  const stopped = codec.stopIds.includes(replyIds.at(-1) ?? -1);
  const tokens = replyIds.map((id) => codec.tokenText(id));
  const text = (stopped ? tokens.slice(0, -1) : tokens).join("");
  return {
    id: call.id,
    attempt: call.attemptId,
    key: call.callKey,
    promptIds: Array.from(call.tokens.promptIds),
    replyIds,
    logprobs: Array.from(call.tokens.logprobs),
    versions: Array.from(call.tokens.versions),
    breakReason: call.breakReason,
    parent: call.parent,
    prefixLength: call.prefixLength,
    text,
    tokens,
    encodedIds: text === "" ? [] : Array.from(await codec.encodeText(text, true)),
    stopped,
  };
}

function statusOf({ status }: Rollout): LessonRollout["status"] {
  if (status.state === "succeeded") return "succeeded";
  return /timed out/i.test(status.error_message ?? "") ? "timed_out" : "failed";
}

function asRecord(value: unknown): Readonly<Record<string, unknown>> {
  return typeof value === "object" && value !== null && !Array.isArray(value) ? (value as Record<string, unknown>) : {};
}

async function lessonRollout(store: Store, rollout: Rollout, codec: LessonCodec): Promise<LessonRollout> {
  const { rollout_id: id } = rollout;
  const attempt = rollout.status.last_attempt_id ?? "0";
  const rewards = await store.events(id, attempt, eventTypes.reward);
  const calls = await store.calls(id, attempt);
  const { reward } = earnedBy(
    rewards,
    calls.map((call) => call.id),
  );
  return {
    id,
    attempt,
    status: statusOf(rollout),
    reward,
    input: asRecord(rollout.input),
    hidden: asRecord(rollout.hidden),
    calls: await Promise.all(calls.filter(({ own }) => own).map((call) => lessonCall(call, codec))),
  };
}

/** The groups that the first `updates` updates trained, in their order; all of them by default. */
export async function lessonGroups(
  store: Store,
  codec: LessonCodec,
  updates: number = Number.POSITIVE_INFINITY,
): Promise<LessonGroup[]> {
  const noted = (await notedUpdates(store)).filter(({ update }) => update <= updates);
  const members = new Map<string, Rollout[]>();
  for (const rollout of await store.rollouts()) {
    const { group } = rollout.metadata;
    if (typeof group === "string") members.set(group, [...(members.get(group) ?? []), rollout]);
  }
  const groups = noted.flatMap(({ update, groups: ids }) => ids.map((id) => ({ id, update })));
  return Promise.all(
    groups.map(async ({ id, update }) => {
      const rollouts = (members.get(id) ?? []).sort((a, b) => (a.rollout_id < b.rollout_id ? -1 : 1));
      return { id, update, rollouts: await Promise.all(rollouts.map((r) => lessonRollout(store, r, codec))) };
    }),
  );
}
