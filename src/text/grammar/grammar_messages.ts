/** What an engine and the worker of its grammars say to each other. */
import type { ConstraintSpec } from "../../schema/token_constraint.ts";
import type { TokenizerFiles } from "../../schema/tokenizer_files.ts";

/** First message: whose tokens it is about, and how many rows the model's head has. */
export interface GrammarOpen {
  readonly kind: "grammar_open";
  readonly files: TokenizerFiles;
  readonly vocabSize: number;
}

/** About the constraint `id`; calls are answered in their order, those of a number with that number. */
export type GrammarCall =
  | { readonly kind: "grammar_compile"; readonly number: number; readonly id: number; readonly spec: ConstraintSpec }
  | { readonly kind: "grammar_mask"; readonly number: number; readonly id: number }
  | { readonly kind: "grammar_accept"; readonly id: number; readonly token: number }
  | { readonly kind: "grammar_dispose"; readonly id: number };

/** The answer to a call; `bits` as `TokenConstraint.mask` writes them, null where every token may come next. */
export interface GrammarReply {
  readonly kind: "grammar_reply";
  readonly number: number;
  readonly bits?: Uint32Array | null;
  readonly error?: { readonly code: string; readonly message: string; readonly do: string };
  /** The fault ended the library: this worker is of no more use. */
  readonly isFatal?: boolean;
}
