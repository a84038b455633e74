/** The numbers from `first` to `last` as words, each with `before` in front. */
export function numberWords(first: number, last: number, before = ""): string[] {
  return Array.from({ length: last - first + 1 }, (_, i) => `${before}${first + i}`);
}
