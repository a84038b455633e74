/** A number with its noun: "1 tensor", "1,200 tensors". */
export function counted(n: number, noun: string): string {
  return `${n.toLocaleString("en")} ${noun}${n === 1 ? "" : "s"}`;
}
