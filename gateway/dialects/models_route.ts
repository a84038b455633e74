/** The list of models, in the words of each dialect's clients. */
import type { Context } from "hono";
import { type Gateway, pathParam } from "../context.ts";
import { ApiError } from "../http/errors.ts";
import { attemptPrefix, type Routes } from "../http/routes.ts";
import { chatCompletions } from "./chat_completions.ts";
import type { Dialect, JsonObject } from "./dialect.ts";
import { gemini } from "./gemini.ts";
import { geminiModel, geminiVersions } from "./gemini_paths.ts";
import { errorResponse } from "./model_routes.ts";

/** A model in the words of OpenAI's clients and in those of Anthropic's. */
function modelJson(gateway: Gateway, id: string): JsonObject {
  const created = Math.floor(gateway.now());
  const openAi = { id, object: "model", created, owned_by: "leyden" };
  return { ...openAi, type: "model", display_name: id, created_at: new Date(created * 1000).toISOString() };
}

function modelList(gateway: Gateway, names: readonly string[]): JsonObject {
  const data = names.map((name) => modelJson(gateway, name));
  return { object: "list", data, has_more: false, first_id: names[0], last_id: names.at(-1) };
}

/** What a reader with a good key gets; refusals in the dialect's form. */
async function answer(
  context: Context,
  gateway: Gateway,
  dialect: Dialect,
  body: (names: readonly string[]) => Promise<JsonObject> | JsonObject,
): Promise<Response> {
  try {
    if (!(await gateway.principal(context))) throw new ApiError(401, "invalid_api_key", "Invalid or missing API key");
    return Response.json(await body(await gateway.calls.names()));
  } catch (thrown) {
    return errorResponse(dialect, thrown, gateway);
  }
}

function requireNamed(id: string, names: readonly string[]): string {
  if (names.includes(id)) return id;
  const message = `The model ${JSON.stringify(id)} does not exist. Calls that ask for it are answered by '${names[0]}'.`;
  throw new ApiError(404, "model_not_found", message, { param: "model" });
}

function addOpenAi(routes: Routes, gateway: Gateway, path: string): void {
  routes.add("GET", path, "The models that answer", (c) =>
    answer(c, gateway, chatCompletions, (names) => modelList(gateway, names)),
  );
  routes.add("GET", `${path}/:model{.+}`, "One of the models", (c) =>
    answer(c, gateway, chatCompletions, (names) => modelJson(gateway, requireNamed(pathParam(c, "model"), names))),
  );
}

function addGemini(routes: Routes, gateway: Gateway, path: string): void {
  const describe = async (name: string) => geminiModel(name, await gateway.calls.context());
  routes.add("GET", path, "The models that answer (gemini)", (c) =>
    answer(c, gateway, gemini, async (names) => ({ models: await Promise.all(names.map(describe)) })),
  );
  routes.add("GET", `${path}/:model{.+}`, "One of the models (gemini)", (c) =>
    answer(c, gateway, gemini, (names) => describe(requireNamed(pathParam(c, "model"), names))),
  );
}

export function addModelsRoutes(routes: Routes, gateway: Gateway): void {
  for (const prefix of ["", attemptPrefix]) {
    addOpenAi(routes, gateway, `${prefix}/v1/models`);
    if (prefix !== "") addOpenAi(routes, gateway, `${prefix}/models`);
    for (const version of geminiVersions) addGemini(routes, gateway, `${prefix}/${version}/models`);
  }
}
