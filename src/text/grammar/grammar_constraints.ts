import type { CompiledGrammar, GrammarCompiler, GrammarMatcher } from "@mlc-ai/web-xgrammar";
import { ConfigError } from "../../core/errors.ts";
import type { ConstraintCompiler, ConstraintSpec, TokenConstraint } from "../../schema/token_constraint.ts";
import type { TokenizerFiles } from "../../schema/tokenizer_files.ts";
import { ChatFormat } from "../chat_format.ts";
import type { CallStructure } from "../tool_call_format.ts";
import { checkSchema } from "./checked_schema.ts";
import type { GrammarLibrary, Xgrammar } from "./library.ts";
import { librarySchema } from "./library_schema.ts";
import { ebnfTooLarge } from "./repetition.ts";
import { replyFormat, type SchemaToEbnf } from "./reply_grammar.ts";
import { unfollowable, unfollowablePath } from "./unfollowable.ts";
import { grammarVocabulary } from "./vocabulary.ts";

/** Compiled grammars kept, the oldest given up first. */
const keptGrammars = 64;

/** The library with one model's vocabulary in it. */
interface Compiler {
  readonly library: Xgrammar;
  readonly grammars: GrammarCompiler;
  readonly structure: CallStructure;
}

/**
 * Makes constraints for one model's tokens from JSON schemas, tools and grammars. Nothing is loaded before the first; the
 * library is WebAssembly and stays on the thread that calls it.
 */
export class GrammarConstraints implements ConstraintCompiler {
  private readonly files: () => Promise<TokenizerFiles>;
  private readonly vocabSize: number;
  private readonly source: GrammarLibrary;
  private compiler: Promise<Compiler> | null = null;
  private readonly compiled = new Map<string, Promise<CompiledGrammar>>();

  /** `files`: the model's tokenizer, read at the first constraint; `vocabSize`: rows of the model's head. */
  constructor(files: () => Promise<TokenizerFiles>, vocabSize: number, source: GrammarLibrary) {
    this.files = files;
    this.vocabSize = vocabSize;
    this.source = source;
  }

  async compile(spec: ConstraintSpec): Promise<TokenConstraint> {
    checkSpec(spec);
    try {
      this.compiler ??= this.open();
      const { library } = await this.compiler;
      return new GrammarConstraint(await library.GrammarMatcher.createGrammarMatcher(await this.grammar(spec)));
    } catch (thrown) {
      this.forget(thrown);
      throw thrown instanceof ConfigError ? thrown : uncompilable(spec, thrown, this.source.lastWords());
    } finally {
      this.source.lastWords();
    }
  }

  private grammar(spec: ConstraintSpec): Promise<CompiledGrammar> {
    const key = JSON.stringify(spec);
    const known = this.compiled.get(key);
    if (known) return known;
    const made = this.build(spec);
    made.catch(() => this.compiled.delete(key));
    this.compiled.set(key, made);
    const [oldest] = this.compiled.keys();
    if (this.compiled.size > keptGrammars && oldest !== undefined) this.drop(oldest);
    return made;
  }

  private async build(spec: ConstraintSpec): Promise<CompiledGrammar> {
    const { library, grammars, structure } = await (this.compiler as Promise<Compiler>);
    const toEbnf: SchemaToEbnf = async (asked, form, root) => {
      const { schema } = librarySchema(asked, form, root);
      // The library writes no rule for parameters of which there are none.
      const { properties = {} } = schema as { properties?: object };
      if (form === "xml" && Object.keys(properties).length === 0) return 'root ::= ""';
      // With white space free, a small model writes nothing else.
      const convert = (part: unknown): Promise<string> =>
        library.Testings._jsonSchemaToEBNF(JSON.stringify(part), true, undefined, undefined, true, 1, form);
      return await convert(schema).catch(async (thrown: unknown) => {
        // An instance that has ended says nothing more of the parts.
        if (thrown instanceof WebAssembly.RuntimeError) throw unfollowable(root ?? "schema", thrown);
        throw unfollowable(await unfollowablePath(schema, convert, root), thrown);
      });
    };
    const format = await replyFormat(spec, structure, toEbnf);
    return grammars.compileStructuralTag({ type: "structural_tag", format });
  }

  private async open(): Promise<Compiler> {
    const files = await this.files();
    const format = ChatFormat.load(files);
    const { markup, structure } = format.template.toolCallFormat;
    const { tokens, type } = grammarVocabulary(files, this.vocabSize, markup);
    const library = await this.source.load();
    const stops = [...format.stopIds];
    const info = await library.TokenizerInfo.createTokenizerInfo(tokens, type, false, this.vocabSize, stops);
    return { library, grammars: await library.GrammarCompiler.createGrammarCompiler(info), structure };
  }

  private drop(key: string): void {
    const dropped = this.compiled.get(key);
    this.compiled.delete(key);
    void dropped?.then((grammar) => grammar.dispose()).catch(() => {});
  }

  /** A fault that ended the WebAssembly leaves nothing that can be used further. */
  private forget(thrown: unknown): void {
    const fault = thrown instanceof ConfigError ? thrown.cause : thrown;
    if (!(fault instanceof WebAssembly.RuntimeError)) return;
    this.source.discard();
    this.compiler = null;
    this.compiled.clear();
  }
}

/** One reply's place in a grammar. */
class GrammarConstraint implements TokenConstraint {
  private readonly matcher: GrammarMatcher;
  private left = false;

  constructor(matcher: GrammarMatcher) {
    this.matcher = matcher;
  }

  /** Allows nothing once a token came that the grammar has no place for. */
  async mask(out: Uint32Array): Promise<boolean> {
    if (this.left || this.matcher.isTerminated()) out.fill(0);
    else out.set((await this.matcher.getNextTokenBitmask()).subarray(0, out.length));
    return true;
  }

  accept(id: number): void {
    if (!this.left && !this.matcher.isTerminated()) this.left = !this.matcher.acceptToken(id);
  }

  dispose(): void {
    this.matcher.dispose();
  }
}

function checkSpec(spec: ConstraintSpec): void {
  if (spec.kind === "json_schema") checkSchema(spec.schema);
  if (spec.kind === "after_thinking") checkSpec(spec.answer);
  if (spec.kind === "grammar") checkGrammar(spec.grammar);
  if (spec.kind !== "tool_calls") return;
  for (const { name, parameters } of spec.tools) checkSchema(parameters ?? {}, `${name}.parameters`);
  if (spec.text) checkSpec(spec.text);
}

function checkGrammar(grammar: string): void {
  const size = ebnfTooLarge(grammar);
  if (size !== null) throw grammarFault(size, "Ask for less in one reply.");
}

function grammarFault(what: string, advice: string, cause?: unknown): ConfigError {
  return new ConfigError(`The grammar of the reply cannot be followed: it ${what}.`, { do: advice, cause });
}

/** Line and column of what the library could not read. */
const grammarPlace = /at line (\d+), column (\d+)/;

/** The grammar that a spec brings; null for one that we write. */
function ownGrammar(spec: ConstraintSpec): string | null {
  if (spec.kind === "after_thinking") return ownGrammar(spec.answer);
  return spec.kind === "grammar" ? spec.grammar : null;
}

/** The library throws numbers for its own exceptions, and says why it ends before it does; its words are for the cause. */
function uncompilable(spec: ConstraintSpec, thrown: unknown, words: string | null): ConfigError {
  if (ownGrammar(spec) === null) return unfollowable("schema", thrown);
  const said = words ?? (thrown instanceof Error ? thrown.message : "");
  const [, line, column] = grammarPlace.exec(said) ?? [];
  const what =
    line === undefined ? "is none that the grammar compiler takes" : `cannot be read at line ${line}, column ${column}`;
  return grammarFault(what, 'Write EBNF with a rule named root, such as root ::= "yes" | "no".', thrown);
}
