import type { JSX } from "hono/jsx/dom/jsx-runtime";

interface TableProps {
  readonly caption: string;
  readonly head: readonly string[];
  readonly rows: readonly (readonly string[])[];
  /** The first cell of a row names it. */
  readonly named?: boolean;
}

/** A table of texts. */
export function TextTable({ caption, head, rows, named = false }: TableProps): JSX.Element {
  return (
    <div class="ls-scroll">
      <table class="ls-table">
        <caption>{caption}</caption>
        <thead>
          <tr>
            {head.map((cell, i) => (
              <th key={i} scope="col">
                {cell}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {rows.map((row, r) => (
            <tr key={r}>
              {row.map((cell, i) =>
                named && i === 0 ? (
                  <th key={i} scope="row">
                    {cell}
                  </th>
                ) : (
                  <td key={i}>{cell}</td>
                ),
              )}
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}
