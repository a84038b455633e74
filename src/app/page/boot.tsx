import { render } from "hono/jsx/dom";
import { takeSecrets } from "./preferences.ts";
import { Shell } from "./shell.tsx";

const root = document.getElementById("root");
const secrets = takeSecrets();
if (root !== null) render(<Shell secrets={secrets} />, root);
