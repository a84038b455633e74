import type { JSX } from "hono/jsx/dom/jsx-runtime";
import { useStudio } from "./context.ts";
import { numberText } from "./format.ts";
import { colorings, coloringText, type TokenColoring, type TokenScale } from "./token_colors.ts";

export interface LegendProps {
  readonly coloring: TokenColoring;
  readonly scale: TokenScale | null;
  /** What there is nothing known of. */
  readonly missing: readonly TokenColoring[];
  onChange(coloring: TokenColoring): void;
}

/** What tokens are coloured by, and what the colours mean. */
export function Legend({ coloring, scale, missing, onChange }: LegendProps): JSX.Element {
  const { say, language } = useStudio();
  return (
    <div class="st-coloring">
      <div class="st-segments" role="radiogroup" aria-label={say("color.label")}>
        {colorings.map((one) => (
          <label key={one} class={`st-segment${one === coloring ? " st-segment-on" : ""}`}>
            <input
              type="radio"
              name="st-coloring"
              value={one}
              checked={one === coloring}
              disabled={missing.includes(one)}
              onChange={() => onChange(one)}
            />
            {say(coloringText[one])}
          </label>
        ))}
      </div>
      {scale === null ? null : (
        <span class="st-scale" role="img" aria-label={say("color.legend", { name: say(coloringText[coloring]) })}>
          {scale.legend.map(([name, value], i) => (
            <span key={`${i}`} class={`st-scale-step st-token ${name}`}>
              {numberText(value, language, 2)}
            </span>
          ))}
        </span>
      )}
    </div>
  );
}
