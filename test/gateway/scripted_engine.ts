/** A model with a real tokenizer and chat template, whose replies a test writes. */
import type { ServedModel } from "../../gateway/deps.ts";
import type { GenerateRequest, GenerateResult } from "../../src/schema/engine.ts";
import type { ChatFormat } from "../../src/text/chat_format.ts";
import { FakeEngine } from "./fake_model.ts";

/** Samples given texts, each as tokens no encoder would choose: one per character where it can. */
export class ScriptedEngine extends FakeEngine {
  readonly texts: string[] = [];
  /** Why the replies end. */
  finish: "stop" | "length" = "stop";
  private readonly codec: ChatFormat;

  constructor(codec: ChatFormat) {
    super();
    this.codec = codec;
  }

  /** The engine with its codec. */
  get model(): ServedModel {
    return { engine: this, codec: this.codec, tokenText: (id) => this.decode([id]) };
  }

  decode(ids: ArrayLike<number>): string {
    return this.codec.tokenizer.decode(Array.from(ids));
  }

  override async generate(request: GenerateRequest): Promise<GenerateResult> {
    const { id } = request;
    this.requests.push(request);
    const { tokenizer, stopIds } = this.codec;
    const text = this.texts.shift() ?? "done";
    const parts = text.split(/(<\/?tool_call>|)/).filter((part) => part !== "");
    const ids = parts.flatMap((part) => tokenizer.encode(part));
    const sampled = Int32Array.from([...ids, stopIds[0] as number]);
    const logprobs = new Float32Array(sampled.length).fill(-1);
    const versions = new Int32Array(sampled.length).fill(1);
    return { id, ids: sampled, logprobs, versions, finishReason: this.finish, cachedTokens: 0, truncated: false };
  }
}
