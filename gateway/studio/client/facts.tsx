import type { JSX } from "hono/jsx/dom/jsx-runtime";

/** Names with their values, side by side. */
export function Facts({
  facts,
}: {
  facts: readonly (readonly [name: string, value: JSX.Element | string])[];
}): JSX.Element {
  return (
    <dl class="st-facts">
      {facts.map(([name, value]) => (
        <div key={name}>
          <dt>{name}</dt>
          <dd>{value}</dd>
        </div>
      ))}
    </dl>
  );
}
