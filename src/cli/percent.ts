/** A share of 1 as text: "47.8 %". */
export function percent(share: number): string {
  return `${(100 * share).toFixed(1)} %`;
}
