const units = ["kB", "MB", "GB", "TB"] as const;

/** A size for people: "1 kB", "370 kB", "3.1 MB". */
export function sizeText(bytes: number): string {
  let value = bytes / 1000;
  let unit = 0;
  // What would be written as 1000 is 1 of the next.
  while (Math.round(value) >= 1000 && unit < units.length - 1) {
    value /= 1000;
    unit++;
  }
  const text =
    unit === 0 ? String(bytes > 0 ? Math.max(1, Math.round(value)) : 0) : value.toFixed(value < 99.95 ? 1 : 0);
  return `${text} ${units[unit]}`;
}
