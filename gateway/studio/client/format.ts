import type { Language } from "./texts.ts";

/** A number for people: few digits where many say nothing. */
export function numberText(value: number | null | undefined, language: Language, digits = 4): string {
  if (value === null || value === undefined || Number.isNaN(value)) return "–";
  if (Math.abs(value) === Number.MAX_VALUE) return value > 0 ? "∞" : "−∞";
  if (Number.isInteger(value)) return value.toLocaleString(language).replace("-", "−");
  if (value !== 0 && Math.abs(value) < 10 ** -digits) return value.toExponential(1).replace("-", "−");
  return value
    .toLocaleString(language, { maximumFractionDigits: Math.abs(value) >= 100 ? 1 : digits })
    .replace("-", "−");
}

/** Seconds for people: "0.4 s", "12 s", "3:05". */
export function durationText(seconds: number, language: Language): string {
  if (seconds < 60) return `${numberText(seconds, language, seconds < 10 ? 2 : 0)} s`;
  const whole = Math.round(seconds);
  const parts =
    whole >= 3600
      ? [Math.floor(whole / 3600), Math.floor(whole / 60) % 60, whole % 60]
      : [Math.floor(whole / 60), whole % 60];
  return parts.map((part, i) => (i === 0 ? String(part) : String(part).padStart(2, "0"))).join(":");
}

/** A moment in the reader's own time; `seconds` since the epoch. */
export function momentText(seconds: number, language: Language): string {
  return new Date(seconds * 1000).toLocaleString(language, { dateStyle: "short", timeStyle: "medium" });
}
