/** A run as one file that needs nothing else: the studio's own code, and the data it shows. */
import type { StudioSnapshot } from "../../src/schema/studio_api.ts";

/** The studio's bundled code and style. */
export interface ReportParts {
  script: string;
  style: string;
}

/** Text inside <script> and <style> that no end tag, comment or markup can be made of. */
function jsonText(value: unknown): string {
  return JSON.stringify(value)
    .replaceAll("<", "\\u003c")
    .replaceAll(">", "\\u003e")
    .replaceAll("&", "\\u0026")
    .replaceAll("\u2028", "\\u2028")
    .replaceAll("\u2029", "\\u2029");
}

/** Code as it may stand in a script element. */
function scriptText(code: string): string {
  return code.replaceAll(/<(?=\/script|!--|script)/gi, "\\x3C");
}

function htmlText(text: string): string {
  return text.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll('"', "&quot;");
}

/** Nothing is fetched: a report shows what it holds. */
const policy =
  "default-src 'none'; script-src 'unsafe-inline'; style-src 'unsafe-inline'; img-src data:; base-uri 'none'; form-action 'none'";

/** The report's HTML. */
export function reportHtml(snapshot: StudioSnapshot, { script, style }: ReportParts): string {
  return `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="${policy}">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="referrer" content="no-referrer">
<title>${htmlText(snapshot.run.name)} – Leyden</title>
<style>${style.replaceAll(/<(?=\/style)/gi, "\\3C ")}</style>
</head>
<body>
<div id="studio"></div>
<script type="application/json" id="snapshot">${jsonText(snapshot)}</script>
<script>${scriptText(script)}</script>
</body>
</html>
`;
}
