/** Gemini: functions, which of them have to be called, and the form of the text. */
import { type ToolDefinition, toolDefinitionSchema } from "../../src/schema/chat.ts";
import type { JsonObject } from "./dialect.ts";
import {
  autoChoice,
  type OutputFormat,
  type ReplyForm,
  requireOffered,
  schemaFormat,
  type ToolChoice,
} from "./reply_form.ts";
import { invalid } from "./request_fields.ts";

/** A schema in Gemini's older form, types in capitals, as JSON Schema. */
export function jsonSchema(schema: unknown): unknown {
  if (Array.isArray(schema)) return schema.map(jsonSchema);
  if (typeof schema !== "object" || schema === null) return schema;
  return Object.fromEntries(
    Object.entries(schema).map(([key, value]) => [
      key,
      key === "type" && typeof value === "string" ? value.toLowerCase() : jsonSchema(value),
    ]),
  );
}

function definition(declared: unknown, place: string): ToolDefinition {
  const { name, description, parameters, parametersJsonSchema } = (declared ?? {}) as JsonObject;
  const result = toolDefinitionSchema.safeParse({
    type: "function",
    function: {
      name,
      ...(description === undefined ? {} : { description }),
      parameters: parametersJsonSchema ?? jsonSchema(parameters),
    },
  });
  if (result.success) return result.data;
  const [issue] = result.error.issues;
  const at = [place, ...(issue?.path.slice(1) ?? [])].join(".");
  throw invalid(at, `Invalid '${at}': ${issue?.message ?? "not a function"}.`);
}

function declarationsOf(tool: unknown): unknown {
  const { functionDeclarations, function_declarations } = (tool ?? {}) as JsonObject;
  return functionDeclarations ?? function_declarations;
}

interface CallingConfig {
  mode?: unknown;
  allowedFunctionNames?: unknown;
}

function callingConfig(body: JsonObject): CallingConfig {
  const config = (body.toolConfig ?? body.tool_config) as { functionCallingConfig?: CallingConfig | null } | null;
  return config?.functionCallingConfig ?? {};
}

/** @throws ApiError 400 */
export function readTools(body: JsonObject): ToolDefinition[] | null {
  const { tools } = body;
  if (tools === undefined || tools === null || callingConfig(body).mode === "NONE") return null;
  if (!Array.isArray(tools)) throw invalid("tools", "Invalid 'tools': expected a list of tools.");
  const read = tools.flatMap((tool: unknown, at) => {
    const declared = declarationsOf(tool);
    if (declared === undefined || declared === null) return [];
    const place = `tools.${at}.functionDeclarations`;
    if (!Array.isArray(declared)) throw invalid(place, `Invalid '${place}': expected a list of functions.`);
    return declared.map((one: unknown, index) => definition(one, `${place}.${index}`));
  });
  return read.length === 0 ? null : read;
}

/** Google's own tools, by kind: "tools.googleSearch". */
export function unservedTools({ tools }: JsonObject): JsonObject {
  const kinds = (Array.isArray(tools) ? tools : []).flatMap((tool: unknown) =>
    Object.entries((tool ?? {}) as JsonObject),
  );
  const left = kinds.filter(([kind]) => kind !== "functionDeclarations" && kind !== "function_declarations");
  return Object.fromEntries(left.map(([kind, value]) => [`tools.${kind}`, value]));
}

function readChoice(body: JsonObject): ToolChoice {
  const { mode, allowedFunctionNames: allowed } = callingConfig(body);
  const named = Array.isArray(allowed) ? allowed.filter((name) => typeof name === "string") : [];
  const names = named.length === 0 ? null : named;
  if (mode === "ANY") return { mode: "required", names };
  return mode === "NONE" ? { mode: "none", names: null } : autoChoice;
}

/** Where requests say how to generate. */
export function generationConfig(body: JsonObject): JsonObject {
  const config = body.generationConfig ?? body.generation_config;
  if (config === undefined || config === null) return {};
  if (typeof config === "object" && !Array.isArray(config)) return config as JsonObject;
  throw invalid("generationConfig", "Invalid 'generationConfig': expected an object.");
}

function readFormat({ responseMimeType: type, responseJsonSchema, responseSchema }: JsonObject): OutputFormat {
  if (type !== "application/json") return { kind: "text" };
  return schemaFormat(responseJsonSchema ?? jsonSchema(responseSchema), "generationConfig.responseJsonSchema");
}

/** What the reply has to be. @throws ApiError 400 */
export function readForm(body: JsonObject, tools: readonly ToolDefinition[] | null): ReplyForm {
  const choice = readChoice(body);
  const config = generationConfig(body);
  const format = readFormat(config);
  requireOffered(choice, tools, "toolConfig");
  const fields = {
    ...(choice.mode === "required" ? { toolConfig: body.toolConfig ?? body.tool_config } : {}),
    ...(format.kind === "text" ? {} : { responseMimeType: config.responseMimeType }),
  };
  return { choice, parallelCalls: true, format, fields };
}
