import { pageTokens } from "../ops/kv_pages.ts";
import type { GenerateRequest, GenerateResult, TopLogprobs } from "../schema/engine.ts";
import type { TokenConstraint } from "../schema/token_constraint.ts";
import { type BlockPool, noNode } from "./block_pool.ts";
import { changesLogits, isStepwise } from "./stepwise.ts";
import type { Alternatives } from "./top_logprobs.ts";

/** A generation in flight: its tokens, which of them have keys and values in the cache, and its pages. */
export class Sequence {
  readonly request: GenerateRequest;
  /** Prompt ids followed by sampled ids; the first `length` entries count. */
  readonly tokens: Int32Array;
  readonly sampledLogprobs: Float32Array;
  readonly sampledVersions: Int32Array;
  length: number;
  /** Tokens whose keys and values are in pages. */
  computed = 0;
  readonly pages: number[] = [];
  /** Prompt tokens found in the cache when it was first admitted. */
  cachedTokens = 0;
  /** Times it lost its pages to others and started over. */
  preemptions = 0;
  /** What its reply must match; ended by its owner. */
  readonly constraint: TokenConstraint | null;
  /** True when the host acts between two of its tokens. */
  readonly isStepwise: boolean;
  /** Decode step that last served it. */
  lastServed = 0;
  /** The last sequence it was compared with; prompts are long and asked about at every step. */
  private compared: { readonly ahead: Sequence; readonly shared: number } | null = null;
  private constrained = false;
  private readonly alternatives: Alternatives[] = [];
  private node = noNode;
  private publishedPages = 0;

  /** `mostTokens` bounds prompt and reply together. */
  constructor(request: GenerateRequest, mostTokens: number, constraint: TokenConstraint | null = null) {
    this.request = request;
    this.constraint = constraint;
    this.isStepwise = isStepwise(request);
    const room = Math.min(request.maxTokens, mostTokens - request.promptIds.length);
    this.tokens = new Int32Array(request.promptIds.length + room);
    this.tokens.set(request.promptIds);
    this.length = request.promptIds.length;
    this.sampledLogprobs = new Float32Array(room);
    this.sampledVersions = new Int32Array(room);
  }

  get promptLength(): number {
    return this.request.promptIds.length;
  }

  get sampled(): number {
    return this.length - this.promptLength;
  }

  /** Tokens it may still sample. */
  get remaining(): number {
    return this.tokens.length - this.length;
  }

  /** True when every token but the newest sampled one has keys and values: the next step is a decode step. */
  get isDecoding(): boolean {
    return this.sampled > 0 && this.computed === this.length - 1;
  }

  /** True when `ahead` has yet to compute pages that this sequence will share. */
  follows(ahead: Sequence): boolean {
    const shares = ahead.request.adapter === this.request.adapter && Number.isFinite(ahead.publishedPages);
    if (!shares) return false;
    if (this.compared?.ahead !== ahead) this.compared = { ahead, shared: this.sharedWith(ahead) };
    return this.compared.shared > ahead.computed;
  }

  /** Tokens of the whole pages that both begin with, the last token of this sequence left to compute. */
  private sharedWith(ahead: Sequence): number {
    const most = Math.min(this.length - 1, ahead.length);
    let common = 0;
    while (common < most && this.tokens[common] === ahead.tokens[common]) common++;
    return Math.floor(common / pageTokens) * pageTokens;
  }

  /** Takes cached pages for the longest known prefix under `root`, leaving at least one token to compute. */
  attachCached(pool: BlockPool, root: number): void {
    // Each sequence that kept another would keep all that came before it.
    this.compared = null;
    this.node = root;
    while ((this.publishedPages + 1) * pageTokens < this.length) {
      const from = this.publishedPages * pageTokens;
      const found = pool.share(this.node, this.tokens.subarray(from, from + pageTokens));
      if (found === null) break;
      this.pages.push(found.page);
      this.node = found.node;
      this.publishedPages++;
    }
    this.computed = this.publishedPages * pageTokens;
    if (this.preemptions === 0) this.cachedTokens = this.computed;
  }

  /** Ensures pages for `tokens` tokens. False (and nothing taken) when the pool cannot give them. */
  reserve(pool: BlockPool, tokens: number): boolean {
    const missing = Math.ceil(tokens / pageTokens) - this.pages.length;
    if (missing > pool.available) return false;
    for (let i = 0; i < missing; i++) this.pages.push(pool.take() as number);
    return true;
  }

  /** Notes that keys and values of tokens up to `computed` are there, and publishes the pages that became full. */
  advance(pool: BlockPool, computed: number): void {
    this.computed = computed;
    while ((this.publishedPages + 1) * pageTokens <= computed) {
      const from = this.publishedPages * pageTokens;
      const page = this.pages[this.publishedPages] as number;
      this.node = pool.publish(page, this.node, this.tokens.subarray(from, from + pageTokens));
      this.publishedPages++;
    }
  }

  /** Its pages hold keys and values of weights that have changed since: they serve it alone from now on. */
  stopPublishing(): void {
    this.publishedPages = Number.POSITIVE_INFINITY;
  }

  /** Appends one sampled token. */
  append(id: number, logprob: number, version: number): void {
    const at = this.sampled;
    this.tokens[this.length] = id;
    this.sampledLogprobs[at] = logprob;
    this.sampledVersions[at] = version;
    this.length++;
  }

  /** Notes how the newest token was drawn. */
  noteDraw(constrained: boolean, alternatives: Alternatives | undefined): void {
    this.constrained ||= constrained;
    if (alternatives !== undefined) this.alternatives.push(alternatives);
  }

  /** Gives all pages back; what was sampled is kept, so it can start over by prefilling its own tokens. */
  releasePages(pool: BlockPool): void {
    // From the end: of pages that stay cached those go first that others find only behind the rest.
    for (const page of this.pages.toReversed()) pool.release(page);
    this.pages.length = 0;
    this.computed = 0;
    this.node = noNode;
    this.publishedPages = 0;
  }

  /** The result with the first `kept` sampled tokens. */
  result(finishReason: GenerateResult["finishReason"], kept: number, stopped?: number | string): GenerateResult {
    const { sampling, adjustments = {} } = this.request;
    const cut = sampling.temperature > 0 && (sampling.topK > 0 || sampling.topP < 1 || sampling.minP > 0);
    return {
      id: this.request.id,
      ids: this.tokens.slice(this.promptLength, this.promptLength + kept),
      logprobs: this.sampledLogprobs.slice(0, kept),
      versions: this.sampledVersions.slice(0, kept),
      finishReason,
      ...(stopped === undefined ? {} : { stopped }),
      cachedTokens: this.cachedTokens,
      truncated: cut || changesLogits(adjustments),
      ...(this.constrained ? { constrained: true } : {}),
      ...(this.alternatives.length > 0 ? { topLogprobs: this.topLogprobs(kept) } : {}),
    };
  }

  private topLogprobs(kept: number): TopLogprobs {
    const count = this.request.topLogprobs ?? 0;
    const ids = new Int32Array(kept * count);
    const logprobs = new Float32Array(kept * count);
    for (const [t, one] of this.alternatives.slice(0, kept).entries()) {
      ids.set(one.ids, t * count);
      logprobs.set(one.logprobs, t * count);
    }
    return { count, ids, logprobs };
  }
}
