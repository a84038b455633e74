/** The worker's end of an engine's grammars. */
import { asLeydenError } from "../../core/errors.ts";
import type { WorkerPort } from "../../schema/platform.ts";
import type { ConstraintCompiler, TokenConstraint } from "../../schema/token_constraint.ts";
import type { GrammarCall, GrammarOpen, GrammarReply } from "./grammar_messages.ts";

class GrammarServer {
  private readonly compiler: ConstraintCompiler;
  private readonly words: number;
  private readonly live = new Map<number, TokenConstraint>();

  constructor(compiler: ConstraintCompiler, words: number) {
    this.compiler = compiler;
    this.words = words;
  }

  /** What is answered; null for calls that have no answer. */
  async answer(call: GrammarCall): Promise<GrammarReply | null> {
    switch (call.kind) {
      case "grammar_accept":
        await this.live.get(call.id)?.accept(call.token);
        return null;
      case "grammar_dispose":
        this.live.get(call.id)?.dispose();
        this.live.delete(call.id);
        return null;
      case "grammar_compile":
        this.live.set(call.id, await this.compiler.compile(call.spec));
        return { kind: "grammar_reply", number: call.number };
      case "grammar_mask":
        return { kind: "grammar_reply", number: call.number, bits: await this.mask(call.id) };
    }
  }

  private async mask(id: number): Promise<Uint32Array | null> {
    const bits = new Uint32Array(this.words);
    const constraint = this.live.get(id);
    // A constraint that could not be made again allows nothing.
    return !constraint || (await constraint.mask(bits)) ? bits : null;
  }
}

/** Answers an owner's calls, one after the other. `open` makes the constraints of the model that the owner names first. */
export function serveGrammars(open: (start: GrammarOpen) => ConstraintCompiler, port: WorkerPort): void {
  let server: GrammarServer | null = null;
  let last: Promise<void> = Promise.resolve();
  const answer = async (call: GrammarCall): Promise<void> => {
    try {
      const reply = (await server?.answer(call)) ?? null;
      if (reply) port.post(reply, reply.bits ? [reply.bits.buffer as ArrayBuffer] : []);
    } catch (thrown) {
      if (!("number" in call)) return;
      const { code, message, do: advice, cause } = asLeydenError(thrown);
      const error = { code, message, do: advice };
      const isFatal = [thrown, cause].some((fault) => fault instanceof WebAssembly.RuntimeError);
      port.post({ kind: "grammar_reply", number: call.number, error, isFatal } satisfies GrammarReply);
    }
  };
  port.onMessage((message) => {
    const call = message as GrammarOpen | GrammarCall;
    if (call.kind === "grammar_open") server ??= new GrammarServer(open(call), Math.ceil(call.vocabSize / 32));
    else if (call.kind.startsWith("grammar_")) last = last.then(() => answer(call));
  });
}
