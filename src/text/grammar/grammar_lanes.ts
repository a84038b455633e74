import type { ConstraintCompiler, ConstraintSpec, TokenConstraint } from "../../schema/token_constraint.ts";
import { GrammarClient, type GrammarClientDeps, GrammarTooSlow } from "./grammar_client.ts";

/** How long a grammar may hold up those that are quick. */
const quickMs = 2_000;
/** Slow grammars whose texts are remembered. */
const remembered = 256;

/**
 * Two workers for grammars: what takes long in the first is ended there, and compiled in the second, which has the whole
 * time. So a slow grammar holds up replies under quick ones for two seconds at most, and once only.
 */
export class GrammarLanes implements ConstraintCompiler {
  private readonly quick: GrammarClient;
  private readonly slow: GrammarClient;
  private readonly known = new Set<string>();

  constructor(deps: GrammarClientDeps) {
    this.quick = new GrammarClient({ ...deps, limitMs: quickMs });
    this.slow = new GrammarClient(deps);
  }

  async compile(spec: ConstraintSpec): Promise<TokenConstraint> {
    const text = JSON.stringify(spec);
    if (this.known.has(text)) return await this.slow.compile(spec);
    try {
      return await this.quick.compile(spec);
    } catch (thrown) {
      if (!(thrown instanceof GrammarTooSlow)) throw thrown;
    }
    const [oldest] = this.known;
    if (this.known.size >= remembered && oldest !== undefined) this.known.delete(oldest);
    this.known.add(text);
    return await this.slow.compile(spec);
  }
}
