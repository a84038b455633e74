import { mean } from "../reward_statistics.ts";

/** Mean, largest and smallest of some values as metrics below `name`; 0 without any. */
export function spread(name: string, values: readonly number[]): Record<string, number> {
  const some = values.length > 0;
  return {
    [`${name}/mean`]: mean(values),
    [`${name}/max`]: some ? values.reduce((a, b) => Math.max(a, b)) : 0,
    [`${name}/min`]: some ? values.reduce((a, b) => Math.min(a, b)) : 0,
  };
}
