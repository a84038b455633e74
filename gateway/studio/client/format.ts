import type { Language } from "./texts.ts";

/** Making a formatter takes far longer than using it. */
function kept<Formatter>(make: (language: Language, digits: number) => Formatter): typeof make {
  const known = new Map<string, Formatter>();
  return (language, digits) => {
    const name = `${language} ${digits}`;
    const found = known.get(name) ?? make(language, digits);
    known.set(name, found);
    return found;
  };
}

const numbers = kept((language, maximumFractionDigits) => new Intl.NumberFormat(language, { maximumFractionDigits }));
const moments = kept((language) => new Intl.DateTimeFormat(language, { dateStyle: "short", timeStyle: "medium" }));

/** A number for people: few digits where many say nothing. */
export function numberText(value: number | null | undefined, language: Language, digits = 4): string {
  if (value === null || value === undefined || Number.isNaN(value)) return "–";
  if (Math.abs(value) === Number.MAX_VALUE) return value > 0 ? "∞" : "−∞";
  // What is left of sums that are zero but for rounding.
  if (Math.abs(value) < 1e-12) return numbers(language, 0).format(0);
  const small = Math.abs(value) < 10 ** -digits;
  const text = small ? value.toExponential(1) : numbers(language, Math.abs(value) >= 100 ? 1 : digits).format(value);
  return text.replaceAll("-", "−");
}

/** Seconds for people: "0.4 s", "12 s", "3:05". */
export function durationText(seconds: number, language: Language): string {
  if (seconds < 60) return `${numberText(seconds, language, seconds < 10 ? 2 : 0)} s`;
  const whole = Math.round(seconds);
  const minutes = Math.floor(whole / 60);
  const parts = whole >= 3600 ? [Math.floor(whole / 3600), minutes % 60, whole % 60] : [minutes, whole % 60];
  return parts.map((part, i) => (i === 0 ? String(part) : String(part).padStart(2, "0"))).join(":");
}

/** A moment in the reader's own time; `seconds` since the epoch. */
export function momentText(seconds: number, language: Language): string {
  return moments(language, 0).format(seconds * 1000);
}
