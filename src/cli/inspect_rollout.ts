import { rolloutTree, type TreeCall } from "../rl/trie/rollout_tree.ts";
import { transcript } from "../rollout/transcript.ts";
import type { CallRecord, Store } from "../schema/store.ts";
import type { Rollout, RolloutEvent } from "../schema/wire.ts";
import { callEvent } from "../store/call_event.ts";
import type { Tokenizer } from "../text/tokenizer.ts";
import { counted } from "./counted.ts";
import { rolloutLine } from "./inspect_table.ts";
import { visible, visibleLine } from "./visible_text.ts";

/** A call's new prompt part and its reply as text. */
interface CallText {
  readonly prompt: string;
  readonly reply: string;
}

/** Tokens as text, special ones included. */
function tokenText(tokenizer: Tokenizer, { promptIds, replyIds }: CallRecord["tokens"], prefix: number): CallText {
  return {
    prompt: tokenizer.decode(promptIds.subarray(prefix), { continuation: prefix > 0 }),
    reply: tokenizer.decode(replyIds, { continuation: true }),
  };
}

function contentText(content: unknown): string {
  return typeof content === "string" ? content : JSON.stringify(content ?? null);
}

/** What the bodies say where tokens cannot be read: the messages since the last reply, and the reply. */
function bodyText(call: CallRecord): CallText {
  const [seen] = transcript([callEvent(call)]);
  const messages = Array.isArray(call.request.messages) ? (call.request.messages as Record<string, unknown>[]) : [];
  const fresh = messages.slice(messages.findLastIndex((message) => message?.role === "assistant") + 1);
  const tools = (seen?.toolCalls ?? []).map(({ name, arguments: args }) => `${name}(${args})`);
  return {
    prompt: fresh.map((message) => `${message?.role}: ${contentText(message?.content)}`).join("\n"),
    reply: [...(seen?.text == null ? [] : [seen.text]), ...tools].join("\n"),
  };
}

function marked(mark: string, text: string): string[] {
  return visible(text)
    .split("\n")
    .map((line) => `  ${mark} ${line}`.trimEnd());
}

/** "3", or "3-4" when the weights changed while it ran. */
function versionText(versions: Int32Array): string {
  const [low, high] = [Math.min(...versions), Math.max(...versions)];
  return low === high ? `${low}` : `${low}-${high}`;
}

function originText(link: TreeCall, number: (id: string) => number, call: CallRecord, isFirst: boolean): string {
  const total = call.tokens.promptIds.length;
  if (link.parent !== null) {
    return `continues [${number(link.parent)}]: ${counted(link.prefix, "token")} kept, ${total - link.prefix} new`;
  }
  const reason = link.break ?? (call.own ? "the same messages once more" : "no reason recorded");
  const root = isFirst ? "first of its attempt" : `begins anew (${reason})`;
  return `${root}: ${counted(total, "token")}`;
}

function replyFacts({ tokens, finishReason, policy, own, delivery, truncated }: CallRecord): string {
  const facts = [
    `reply of ${counted(tokens.replyIds.length, "token")}`,
    finishReason ?? "no finish reason",
    `by ${visible(policy)}`,
  ];
  if (own && tokens.versions.length > 0) facts.push(`version ${versionText(tokens.versions)}`);
  if (truncated) facts.push("truncated distribution");
  return [...facts, delivery].join(", ");
}

function callLines(call: CallRecord, link: TreeCall, heading: string, tokenizer: Tokenizer | null): string[] {
  const readable = tokenizer !== null && call.own && call.tokens.promptIds.length > 0;
  const text = readable ? tokenText(tokenizer, call.tokens, link.prefix) : bodyText(call);
  return ["", heading, `    ${replyFacts(call)}`, ...marked(">", text.prompt), ...marked("<", text.reply)];
}

function eventLine({ event_type: type, attempt_id: attempt, data }: RolloutEvent): string {
  return `event ${visible(type)} (attempt ${visible(attempt)}): ${visible(JSON.stringify(data))}`;
}

/** Events that are no calls, of all attempts in order. */
async function otherEvents(store: Store, id: string): Promise<RolloutEvent[]> {
  const attempts = await store.attempts(id);
  const events = await Promise.all(attempts.map((attempt) => store.events(id, attempt)));
  return events.flat().filter(({ event_type: type }) => type !== "model_request");
}

/** A rollout for people: every call with its origin, what was new in its prompt, and its reply. */
export async function rolloutText(store: Store, rollout: Rollout, tokenizer: Tokenizer | null): Promise<string[]> {
  const { rollout_id: id } = rollout;
  const line = await rolloutLine(store, rollout);
  const calls = await store.calls(id);
  const tree = rolloutTree(id, calls);
  const numbers = new Map(calls.map((call, i) => [call.id, i + 1]));
  const number = (callId: string): number => numbers.get(callId) ?? 0;
  const begun = new Set<string>();
  const blocks = calls.flatMap((call, i) => {
    const link = tree.calls[i] as TreeCall;
    const origin = originText(link, number, call, !begun.has(call.attemptId));
    begun.add(call.attemptId);
    const heading = `[${i + 1}] ${call.id}  attempt ${visibleLine(call.attemptId)}, lineage ${link.lineage}, ${origin}`;
    return callLines(call, link, heading, tokenizer);
  });
  const failures = (await store.failures(id)).map(
    (f) => `failed call (attempt ${visibleLine(f.attemptId)}): ${visible(f.code)}, ${visible(f.message)}`,
  );
  const events = (await otherEvents(store, id)).map(eventLine);
  const rewards = line.reward === null ? "no reward" : `reward ${line.reward}`;
  return [
    `${visibleLine(id)}: ${line.state}, ${line.mode}, ${rewards}, ${counted(calls.length, "call")}, ${counted(line.attempts, "attempt")}`,
    `input: ${visible(JSON.stringify(rollout.input))}`,
    ...(line.error === null ? [] : [`error: ${visible(line.error)}`]),
    ...blocks,
    "",
    ...failures,
    ...events,
  ];
}
