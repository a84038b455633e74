/** Mean of some values; 0 for none. Equal values give exactly that value. */
export function mean(values: ArrayLike<number>): number {
  if (values.length === 0) return 0;
  const first = values[0] as number;
  let shifted = 0;
  for (let i = 1; i < values.length; i++) shifted += (values[i] as number) - first;
  return first + shifted / values.length;
}

/** Unbiased standard deviation (n - 1); 0 for fewer than two values and exactly 0 for equal ones. */
export function standardDeviation(values: ArrayLike<number>): number {
  if (values.length < 2) return 0;
  const m = mean(values);
  let squares = 0;
  for (let i = 0; i < values.length; i++) squares += ((values[i] as number) - m) ** 2;
  return Math.sqrt(squares / (values.length - 1));
}

/** True when all values are equal: such a group teaches nothing. One value or none counts as equal. */
export function allEqual(values: ArrayLike<number>): boolean {
  for (let i = 1; i < values.length; i++) if (values[i] !== values[0]) return false;
  return true;
}

/** Indices of the members of each group, groups in first-seen order. */
export function groupIndices(groups: readonly string[]): Map<string, number[]> {
  const members = new Map<string, number[]>();
  groups.forEach((group, i) => {
    const list = members.get(group);
    if (list === undefined) members.set(group, [i]);
    else list.push(i);
  });
  return members;
}

/** Groups whose rewards are all equal, in first-seen order; groups of one are among them. */
export function zeroVarianceGroups(groups: readonly string[], rewards: ArrayLike<number>): string[] {
  const out: string[] = [];
  for (const [group, members] of groupIndices(groups)) {
    if (allEqual(members.map((i) => rewards[i] as number))) out.push(group);
  }
  return out;
}
