import type { Plan } from "../gpu/plan.ts";

/** Tokens and prediction records that a plan can take. */
export interface PlanSizes {
  readonly tokens: number;
  readonly records: number;
}

/**
 * A plan that is built for sizes in powers of two and rebuilt when larger work comes: small work takes little memory,
 * one plan exists at a time, and results do not depend on the size it was built for.
 */
export class SizedPlan {
  private readonly build: (sizes: PlanSizes) => Promise<Plan>;
  private readonly maxTokens: number;
  private sizes: PlanSizes = { tokens: 0, records: 0 };
  private plan: Plan | undefined;

  /** Plans are built for at most `maxTokens`. */
  constructor(build: (sizes: PlanSizes) => Promise<Plan>, maxTokens: number) {
    this.build = build;
    this.maxTokens = maxTokens;
  }

  /** Bytes of temporaries of the plan that exists now. */
  get arenaBytes(): number {
    return this.plan?.arenaBytes ?? 0;
  }

  /** A plan for work of these sizes. One caller at a time. */
  async of(wanted: PlanSizes): Promise<Plan> {
    const { plan, sizes } = this;
    if (plan !== undefined && sizes.tokens >= wanted.tokens && sizes.records >= wanted.records) return plan;
    const larger = {
      tokens: Math.max(sizes.tokens, Math.min(this.maxTokens, powerOfTwo(wanted.tokens))),
      records: Math.max(sizes.records, powerOfTwo(wanted.records)),
    };
    this.dispose();
    const built = await this.build(larger);
    this.plan = built;
    this.sizes = larger;
    return built;
  }

  dispose(): void {
    this.plan?.dispose();
    this.plan = undefined;
    this.sizes = { tokens: 0, records: 0 };
  }
}

/** The smallest power of two that is at least `n`, and at least 32. */
export function powerOfTwo(n: number): number {
  return Math.max(32, 2 ** Math.ceil(Math.log2(n)));
}
