/** A model for pages to show: tokens are words, replies are written by the test, numbers look like a model's. */
import type { ServedModel } from "../../../gateway/deps.ts";
import { Rng } from "../../../src/core/rng.ts";
import type { ChatMessage } from "../../../src/schema/chat.ts";
import type { DeviceSpan } from "../../../src/schema/device_timeline.ts";
import type { Engine, GenerateRequest, GenerateResult } from "../../../src/schema/engine.ts";

const words: string[] = ["<|end|>"];
const ids = new Map<string, number>([["<|end|>", 0]]);

/** Ids of a text: pieces of at most seven characters, a space before a word belonging to it. */
export function encode(text: string): number[] {
  return (text.match(/\s?[^\s]{1,7}|\s/g) ?? []).map((word) => {
    const known = ids.get(word) ?? words.push(word) - 1;
    ids.set(word, known);
    return known;
  });
}

export function decode(of: ArrayLike<number>): string {
  return Array.from(of, (id) => (id === 0 ? "" : (words[id] ?? ""))).join("");
}

export function render(messages: readonly Pick<ChatMessage, "role" | "content">[]): number[] {
  const turns = messages.map(({ role, content }) => `<|${role}|>\n${String(content ?? "")}\n`);
  return [...turns.flatMap(encode), ...encode("<|assistant|>\n")];
}

const rng = new Rng([7, 7]);

/** Log-probabilities as a trained model has them: most near 0, some far below. */
export function someLogprobs(length: number): Float32Array {
  return Float32Array.from({ length }, () => -(rng.uniform() ** 4 * 5 + 0.002));
}

/** What the device is said to have done: the last minutes of a run, prefill, decode and training in turn. */
export function someSpans(end: number): DeviceSpan[] {
  const spans: DeviceSpan[] = [];
  for (let at = end - 180; at < end; ) {
    const step = (end - at) % 11 > 9 ? "train" : rng.uniform() < 0.25 ? "prefill" : "decode";
    const seconds = step === "train" ? 0.9 : 0.05 + rng.uniform() * 0.3;
    spans.push({ kind: step, start: at, seconds, actions: 1 });
    at += seconds + (rng.uniform() < 0.2 ? rng.uniform() * 0.3 : 0.01);
    if (step === "train") spans.push({ kind: "optimizer", start: at, seconds: 0.12, actions: 1 });
    if (step === "train") at += 0.15;
  }
  return spans;
}

/** The model; what it generates is `reply`. */
export function wordModel(reply: () => string, now: () => number): ServedModel {
  const engine = {
    info: async () => ({ adapter: "none", contextLength: 100_000, vocabSize: 50_000, version: 120 }),
    stats: async () => ({}),
    // Nothing new is done after what the first question is told.
    timeline: async (after: number) => {
      const spans = after > 0 ? [] : someSpans(now());
      return { spans, next: after + spans.length, dropped: 0 };
    },
    async generate({ id, maxTokens }: GenerateRequest): Promise<GenerateResult> {
      const drawn = Int32Array.from([...encode(reply()), 0].slice(0, maxTokens));
      return {
        id,
        ids: drawn,
        logprobs: someLogprobs(drawn.length),
        versions: drawn.map(() => 120),
        finishReason: "stop",
        cachedTokens: 0,
        truncated: false,
      };
    },
    score: async ({ ids: asked }: { ids: Int32Array }) => ({
      logprobs: someLogprobs(asked.length),
      entropies: Float32Array.from(asked, () => rng.uniform() ** 2 * 2),
    }),
    close: async () => {},
  } as unknown as Engine;
  return {
    engine,
    codec: {
      stopIds: [0],
      thinkingEnd: () => null,
      encodeReply: () => new Int32Array(0),
      encodeText: (text) => Int32Array.from(encode(text)),
      encodeRequest: ({ messages }) => ({
        ids: Int32Array.from(render(messages)),
        parentCall: null,
        prefixLength: 0,
        break: null,
      }),
      parseReply: (of) => ({ content: decode(of), reasoningContent: null, toolCalls: [], text: decode(of), stopId: 0 }),
    },
    tokenText: (id) => words[id] ?? "",
  };
}
