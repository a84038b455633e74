import type {
  ChatRequest,
  ContinuedCall,
  EncodedPrompt,
  ParsedReply,
  PromptAddition,
  RecordedCall,
} from "../schema/chat.ts";
import type { TokenizerFiles } from "../schema/tokenizer_files.ts";
import { breakReason } from "./break_reason.ts";
import { canonicalJson } from "./canonical.ts";
import { ChatTemplate, type ChatTemplateOptions } from "./chat_template.ts";
import { type Continuation, findContinuation, hasTokens } from "./continuation.ts";
import { GuardedEncoder } from "./guarded_encoder.ts";
import { findIncrement, type Increment } from "./increment.ts";
import { chooseMarks, type Marks } from "./marks.ts";
import { plainIncrement } from "./plain_increment.ts";
import { promptOf } from "./prompt_addition.ts";
import { PromptText, PromptTexts } from "./prompt_texts.ts";
import { CarriedNumbers } from "./python_json.ts";
import { thinkClose, thinkOpen } from "./reasoning.ts";
import { type ParsedText, parseReplyText } from "./reply_parser.ts";
import { type WrittenReply, writeReplyText } from "./reply_writer.ts";
import { endOfTurnToken, folderStopIds } from "./stop_ids.ts";
import { type Preparation, UnchangedValues } from "./template_messages.ts";
import { Tokenizer } from "./tokenizer.ts";
import type { ToolCallFormat } from "./tool_call_format.ts";

/** Chat messages to prompt ids and sampled ids back to messages; `ChatFormat` is the one for Hugging Face folders. */
export interface ChatCodec {
  /** Ids that end a reply. */
  readonly stopIds: readonly number[];
  /**
   * Prompt ids of a request. Where it continues one of the recorded calls, that call's prompt and reply ids are its
   * beginning, verbatim; otherwise the whole conversation is rendered.
   * @throws FormatError "template_error" when the template refuses the messages; "unsupported_content" for a part
   *   that is not text; "text_unencodable"
   */
  encodeRequest(request: ChatRequest, recorded: readonly RecordedCall[]): EncodedPrompt;
  /**
   * Ids of a text that no template wrapped; what spells a control token becomes one. `continues`: it follows on other
   * text, so that nothing is added for a beginning.
   * @throws FormatError "text_unencodable"
   */
  encodeText(text: string, continues: boolean): Int32Array;
  /** What ends the thinking that a prompt opens; null where the reply begins with the answer. */
  thinkingEnd(templateArgs?: ChatRequest["templateArgs"]): string | null;
  /** The message that sampled ids spell. `templateArgs`, `tools`: the request's, where it had some. */
  parseReply(
    ids: ArrayLike<number>,
    templateArgs?: ChatRequest["templateArgs"],
    tools?: ChatRequest["tools"],
  ): ParsedReply;
  /**
   * Ids that spell a message as the model would, the end of its turn included; texts in it that look like control
   * tokens do not become some.
   * @throws FormatError "text_unencodable"
   */
  encodeReply(reply: WrittenReply, templateArgs?: ChatRequest["templateArgs"]): Int32Array;
}

/** Choices of a chat format. */
export interface ChatFormatOptions {
  /** How the model writes tool calls; found from the template by default. */
  toolCallFormat?: ToolCallFormat;
  /** Ids that end a reply besides the end of a turn that the template writes. */
  stopIds?: readonly number[];
  /**
   * What becomes of a continuation whose earlier turns the template now writes differently (Qwen3 drops the thinking
   * before the last user message): "template" renders anew, as any other server of the model would, and reports the
   * break; "verbatim" keeps the recorded ids.
   */
  history?: "template" | "verbatim";
}

/** A tokenizer and a chat template together. */
export class ChatFormat implements ChatCodec {
  readonly tokenizer: Tokenizer;
  readonly template: ChatTemplate;
  readonly stopIds: readonly number[];
  private readonly encoder: GuardedEncoder;
  private readonly toolCallFormat: ToolCallFormat;
  private readonly history: "template" | "verbatim";
  private readonly stopIdSet: ReadonlySet<number>;
  private readonly texts = new PromptTexts();
  private readonly unchanged = new UnchangedValues();
  /** By template arguments: whether the generation prompt ends inside the thinking. */
  private readonly opensThinking = new Map<string, boolean>();

  constructor(tokenizer: Tokenizer, template: ChatTemplate, options: ChatFormatOptions = {}) {
    this.tokenizer = tokenizer;
    this.template = template;
    this.toolCallFormat = options.toolCallFormat ?? template.toolCallFormat;
    this.history = options.history ?? "template";
    const markup = [template.source, thinkOpen, thinkClose, ...this.toolCallFormat.markup];
    this.encoder = new GuardedEncoder(tokenizer, markup);
    const endOfTurn = endOfTurnToken(template, this.encoder);
    this.stopIds = [...new Set([...(endOfTurn ? [endOfTurn.id] : []), ...(options.stopIds ?? [])])];
    this.stopIdSet = new Set(this.stopIds);
  }

  /**
   * The chat format of a model folder.
   * @throws FormatError "tokenizer_json" | "template_error"
   */
  static load(files: TokenizerFiles, options: ChatFormatOptions & ChatTemplateOptions = {}): ChatFormat {
    const tokenizer = Tokenizer.load(files);
    const variables = { ...tokenizer.specialTokens, ...options.variables };
    const template = ChatTemplate.load(files, { ...options, variables });
    const stopIds = [...folderStopIds(files, tokenizer), ...(options.stopIds ?? [])];
    return new ChatFormat(tokenizer, template, { ...options, stopIds });
  }

  encodeRequest(request: ChatRequest, recorded: readonly RecordedCall[]): EncodedPrompt {
    return promptOf(this.encodeAddition(request, recorded), recorded);
  }

  /** As encodeRequest, without the ids of the call that is continued. */
  encodeAddition(request: ChatRequest, recorded: readonly ContinuedCall[]): PromptAddition {
    const found = findContinuation(request, recorded);
    if (!found) return this.encodeWhole(request, breakReason(request, recorded));
    if (!hasTokens(found.call)) return this.encodeWhole(request, "retokenised");
    return this.encodeContinuation(request, found) ?? this.encodeWhole(request, "template");
  }

  encodeText(text: string, continues: boolean): Int32Array {
    if (text === "" && continues) return new Int32Array(0);
    if (!continues) return Int32Array.from(this.tokenizer.encode(text, { addSpecial: true }));
    // Any token that takes no whitespace with it shows the encoder that the text before goes on.
    const after = this.tokenizer.addedTokens.find((token) => token.special && !token.rstrip) ?? null;
    return Int32Array.from(this.encoder.encode(text, chooseMarks([text]).lookalike, after));
  }

  thinkingEnd(templateArgs?: ChatRequest["templateArgs"]): string | null {
    return this.startsThinking(templateArgs) ? thinkClose : null;
  }

  parseReply(
    ids: ArrayLike<number>,
    templateArgs?: ChatRequest["templateArgs"],
    tools?: ChatRequest["tools"],
  ): ParsedReply {
    const last = ids.length > 0 ? (ids[ids.length - 1] as number) : null;
    const stopId = last !== null && this.stopIds.includes(last) ? last : null;
    const body = Array.from(ids).slice(0, stopId === null ? undefined : -1);
    const text = this.tokenizer.decode(body, { continuation: true });
    return { ...parseReplyText(text, this.toolCallFormat, this.startsThinking(templateArgs), tools), text, stopId };
  }

  encodeReply(reply: WrittenReply, templateArgs?: ChatRequest["templateArgs"]): Int32Array {
    const marks = chooseMarks([reply]);
    const mark = (text: string) => this.encoder.mark(text, marks.lookalike);
    const marked = {
      content: reply.content === null ? null : mark(reply.content),
      reasoningContent: reply.reasoningContent === null ? null : mark(reply.reasoningContent),
      toolCalls: reply.toolCalls.map((call) => ({ name: mark(call.name), arguments: mark(call.arguments) })),
    };
    const text = writeReplyText(marked, this.toolCallFormat, this.startsThinking(templateArgs));
    // Any token that takes no whitespace with it shows the encoder that the text before goes on.
    const after = this.tokenizer.addedTokens.find((token) => token.special && !token.rstrip) ?? null;
    const ids = this.encoder.encode(text, marks.lookalike, after);
    return Int32Array.from([...ids, ...this.stopIds.slice(0, 1)]);
  }

  private encodeWhole(request: ChatRequest, reason: EncodedPrompt["break"]): PromptAddition {
    const marks = chooseMarks([request]);
    const { text, isMarked } = this.render(request, marks);
    if (!isMarked) this.texts.set(request, new PromptText(null, text));
    const ids = Int32Array.from(this.encoder.encode(text, marks.lookalike, null));
    return { ids, parentCall: null, break: reason };
  }

  /** The rendered text with look-alikes marked, and whether there are any. */
  private render(request: ChatRequest, marks: Marks): { text: string; isMarked: boolean } {
    let isMarked = false;
    const mark = (text: string): string => {
      const marked = this.encoder.mark(text, marks.lookalike);
      if (marked !== text) isMarked = true;
      return marked;
    };
    const numbers = new CarriedNumbers(marks.number);
    const preparation: Preparation = { mark, numbers, unchanged: this.unchanged };
    return { text: this.template.render(request, { generationPrompt: true, preparation }), isMarked };
  }

  /** Null when the template's increment cannot be had, or would not follow what it now makes of the earlier turns. */
  private encodeContinuation(request: ChatRequest, found: Continuation): PromptAddition | null {
    const { call, reply } = found;
    const marks = chooseMarks([request, call.request, reply]);
    const increment = this.plainIncrement(request, found, marks) ?? this.markedIncrement(request, found, marks);
    if (!increment || (increment.turn === null && this.history === "template")) return null;
    return { ids: Int32Array.from(this.encodeIncrement(call, increment, marks)), parentCall: call.id, break: null };
  }

  private plainIncrement(request: ChatRequest, found: Continuation, marks: Marks): Increment | null {
    const plainText = (one: ChatRequest): string | null => {
      const { text, isMarked } = this.render(one, marks);
      return isMarked ? null : text;
    };
    const context = {
      encoder: this.encoder,
      marks,
      stopIds: this.stopIdSet,
      parse: this.turnParser(found.call.request),
      plainText,
      promptText: (one: ChatRequest) => {
        const known = this.texts.get(one);
        const text = known ? null : plainText(one);
        return known ?? (text === null ? null : new PromptText(null, text));
      },
    };
    const plain = plainIncrement(context, request, found);
    if (plain?.text) this.texts.set(request, plain.text);
    return plain?.increment ?? null;
  }

  private markedIncrement(request: ChatRequest, found: Continuation, marks: Marks): Increment | null {
    const { template, encoder, stopIdSet: stopIds } = this;
    return findIncrement(
      { template, encoder, marks, stopIds, parse: this.turnParser(found.call.request) },
      request,
      found,
    );
  }

  /** Reads the turn of a reply to a request. */
  private turnParser({ templateArgs, tools }: ChatRequest): (text: string) => ParsedText {
    return (text) => parseReplyText(text, this.toolCallFormat, this.startsThinking(templateArgs), tools);
  }

  /** The increment's ids, preceded by what ends the reply's turn where the reply itself does not. */
  private encodeIncrement(call: ContinuedCall, { tail, turn, endOfTurn }: Increment, marks: Marks): number[] {
    const last = call.replyIds[call.replyIds.length - 1];
    if (last !== undefined && this.stopIds.includes(last)) {
      const after = this.tokenizer.addedTokens.find((token) => token.id === last) ?? null;
      return this.encoder.encode(tail, marks.lookalike, after);
    }
    const said = this.tokenizer.decode(call.replyIds, { continuation: true });
    const closing = turn?.startsWith(said) ? turn.slice(said.length) : (endOfTurn?.content ?? "");
    // Any token that takes no whitespace with it shows the encoder that the text before goes on.
    const after = endOfTurn && !endOfTurn.rstrip ? endOfTurn : null;
    return this.encoder.encode(closing + tail, marks.lookalike, after);
  }

  private startsThinking(templateArgs: ChatRequest["templateArgs"]): boolean {
    const key = canonicalJson(templateArgs ?? {});
    const known = this.opensThinking.get(key);
    if (known !== undefined) return known;
    const preparation = { mark: (text: string) => text, numbers: new CarriedNumbers("\ufdcf") };
    let opens = false;
    try {
      const request: ChatRequest = { messages: [{ role: "user", content: "" }], templateArgs };
      opens = this.template.render(request, { generationPrompt: true, preparation }).trimEnd().endsWith(thinkOpen);
    } catch {
      // A template that refuses so small a conversation also writes no such prompt.
    }
    this.opensThinking.set(key, opens);
    return opens;
  }
}
