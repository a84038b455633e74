const letters = ["x", "y", "z", "w"] as const;

/** Numbers 0 to n-1, for texts that repeat. */
export function upTo(n: number): number[] {
  return Array.from({ length: n }, (_, i) => i);
}

/** Component `i % 4` of a vec4 in WGSL: ".x" to ".w". */
export function component(i: number): string {
  return `.${letters[i % 4]}`;
}

/** Text for each of 0 to n-1, one per line. */
export function lines(n: number, text: (i: number) => string, indent = "  "): string {
  return upTo(n).map(text).join(`\n${indent}`);
}
