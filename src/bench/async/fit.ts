/**
 * Coefficients c with the least sum of squared relative errors of sum_j features[i][j] c[j] against values[i]; those that
 * come out negative are set to 0 and the others fitted again. Normal equations by Gaussian elimination, float64.
 */
export function fitCosts(features: readonly (readonly number[])[], values: readonly number[]): number[] {
  const width = features[0]?.length ?? 0;
  const used = new Set(Array.from({ length: width }, (_, j) => j));
  for (;;) {
    const columns = [...used];
    const solved = solve(
      features.map((row) => columns.map((j) => row[j] as number)),
      values,
    );
    const negative = columns.filter((_, k) => (solved[k] as number) < 0);
    if (negative.length === 0) {
      const out = new Array<number>(width).fill(0);
      columns.forEach((j, k) => {
        out[j] = solved[k] as number;
      });
      return out;
    }
    for (const j of negative) used.delete(j);
    if (used.size === 0) return new Array<number>(width).fill(0);
  }
}

function solve(features: readonly (readonly number[])[], values: readonly number[]): number[] {
  const n = features[0]?.length ?? 0;
  // Each equation is divided by its value, so that short actions count as much as long ones.
  const rows = features.map((row, i) => row.map((x) => x / (values[i] as number)));
  const a = Array.from({ length: n }, (_, j) => {
    const row = Array.from({ length: n }, (_, k) => rows.reduce((s, r) => s + (r[j] as number) * (r[k] as number), 0));
    return [...row, rows.reduce((s, r) => s + (r[j] as number), 0)];
  });
  for (let j = 0; j < n; j++) {
    let pivot = j;
    for (let i = j + 1; i < n; i++) {
      if (Math.abs(a[i]?.[j] as number) > Math.abs(a[pivot]?.[j] as number)) pivot = i;
    }
    [a[j], a[pivot]] = [a[pivot] as number[], a[j] as number[]];
    const own = a[j] as number[];
    for (const [i, row] of a.entries()) {
      if (i === j || own[j] === 0) continue;
      const factor = (row[j] as number) / (own[j] as number);
      for (let k = j; k <= n; k++) row[k] = (row[k] as number) - factor * (own[k] as number);
    }
  }
  return a.map((row, j) => (row[j] === 0 ? 0 : (row[n] as number) / (row[j] as number)));
}
