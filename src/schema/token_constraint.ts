/**
 * What a reply must match. A request carries the description, plain data that crosses to the engine's worker; the engine
 * compiles it there into a `TokenConstraint` of its own for that reply.
 */
export type ConstraintSpec =
  | { readonly kind: "json_object" }
  /** `schema` is a JSON Schema. */
  | { readonly kind: "json_schema"; readonly schema: unknown }
  /** `grammar` is EBNF with a rule named root. */
  | { readonly kind: "grammar"; readonly grammar: string }
  /** Free text up to and including `end`, which closes the thinking that the prompt opened, and then `answer`. */
  | { readonly kind: "after_thinking"; readonly end: string; readonly answer: ConstraintSpec }
  /** Tool calls as the model's chat format writes them. */
  | {
      readonly kind: "tool_calls";
      /** Tools that may be called, by name, with the JSON Schema of their arguments. */
      readonly tools: readonly { readonly name: string; readonly parameters: unknown }[];
      /** True when the reply must begin with a call, false when text may come first or stand alone. */
      readonly required: boolean;
      /** False allows at most one call. */
      readonly parallel: boolean;
      /** What a reply without calls must match; absent means any text. Only where calls are not required. */
      readonly text?: ConstraintSpec;
    };

/** Which tokens may come next in one reply. */
export interface TokenConstraint {
  /**
   * Writes a bit per token id, bit `id % 32` of word `id >> 5`, 1 for an id that may come next, and returns true. False
   * when every id may come next; `out` then means nothing. `out` has ceil(V / 32) words.
   */
  mask(out: Uint32Array): boolean | Promise<boolean>;
  /** Notes the token that came next, drawn under the mask or forced. */
  accept(id: number): void | Promise<void>;
  /** Frees what the constraint holds; nothing is called after it. */
  dispose(): void;
}

/** Makes constraints for the tokenizer of one model; equal descriptions may share compiled grammars. */
export interface ConstraintCompiler {
  /** @throws ConfigError when the description cannot be compiled */
  compile(spec: ConstraintSpec): Promise<TokenConstraint>;
}
