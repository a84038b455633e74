/** Liveness and the API's description; none of these takes a key. */
import { attemptPrefix, type Routes } from "../http/routes.ts";

const info = { title: "Agent Lightning", version: "1.0.0" };

function openApi(routes: Routes): unknown {
  const paths: Record<string, Record<string, unknown>> = {};
  for (const { method, path, summary } of routes.list) {
    const names = [...path.matchAll(/:(\w+)/g)].map(([, name]) => name);
    const template = path.replace(/:(\w+)(\{[^}]*\})?/g, "{$1}");
    const parameters = names.map((name) => ({ name, in: "path", required: true, schema: { type: "string" } }));
    const operation = { summary, parameters, responses: { default: { description: "See the protocol" } } };
    paths[template] = { ...paths[template], [method.toLowerCase()]: operation };
  }
  return { openapi: "3.1.0", info, paths };
}

function page(routes: Routes): string {
  const rows = routes.list.map(
    ({ method, path, summary }) => `<tr><td>${method}<td><code>${path}</code><td>${summary}`,
  );
  return `<!doctype html><meta charset="utf-8"><title>${info.title}</title><h1>${info.title} ${info.version}</h1>
<p>Description for programs: <a href="/openapi.json">openapi.json</a><table>${rows.join("\n")}</table>`;
}

export function addDescriptionRoutes(routes: Routes): void {
  routes.add("GET", "/healthz", "Liveness", () => Response.json({ status: "ok" }));
  // Some harnesses ask whether their base address is there.
  for (const path of ["/", attemptPrefix, `${attemptPrefix}/`]) {
    routes.add("GET", path, "What this is", () => Response.json({ name: "leyden", status: "ok" }));
  }
  routes.add("GET", "/openapi.json", "This description", () => Response.json(openApi(routes)));
  for (const path of ["/docs", "/redoc"]) {
    const headers = { "content-type": "text/html; charset=utf-8" };
    routes.add("GET", path, "This description for people", () => new Response(page(routes), { headers }));
  }
}
