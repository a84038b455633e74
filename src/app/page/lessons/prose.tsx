import type { JSX } from "hono/jsx/dom/jsx-runtime";

/** A text's words: code between backticks, emphasis between asterisks. */
export function Words({ text }: { text: string }): JSX.Element {
  const pieces = text.split(/(`[^`]+`|\*[^*\s][^*]*\*)/);
  return (
    <>
      {pieces.map((piece, i) => {
        if (piece.length > 2 && piece.startsWith("`")) return <code key={i}>{piece.slice(1, -1)}</code>;
        return piece.length > 2 && piece.startsWith("*") ? <em key={i}>{piece.slice(1, -1)}</em> : piece;
      })}
    </>
  );
}

/** A text's paragraphs. */
export function Prose({ text, lead = false }: { text: string; lead?: boolean }): JSX.Element {
  return (
    <>
      {text.split("\n\n").map((paragraph, i) => (
        <p key={i} class={lead ? "ls-lead" : "ls-text"}>
          <Words text={paragraph} />
        </p>
      ))}
    </>
  );
}
