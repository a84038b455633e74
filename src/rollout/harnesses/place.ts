import type { ScriptedReply } from "../../schema/script.ts";
import type { Harness } from "./harness.ts";

/** Where a harness runs, and what it talks to. */
export interface HarnessPlace {
  readonly prompt: string;
  readonly workspace: string;
  readonly home: string;
  /** OpenAI base path, ends in /v1. */
  readonly openaiUrl: string;
  /** Base of the Anthropic and Gemini dialects. */
  readonly nativeUrl: string;
  readonly key: string;
  readonly model: string;
}

const names: Readonly<Record<string, keyof HarnessPlace>> = {
  prompt: "prompt",
  workspace: "workspace",
  home: "home",
  openai_url: "openaiUrl",
  native_url: "nativeUrl",
  key: "key",
  model: "model",
};

const pattern = new RegExp(`\\{(${Object.keys(names).join("|")})\\}`, "g");

function fill(text: string, place: HarnessPlace, write: (value: string) => string): string {
  return text.replace(pattern, (_, name: string) => write(place[names[name] as keyof HarnessPlace]));
}

/** A value as it stands inside a JSON string. */
function inJson(value: string): string {
  return JSON.stringify(value).slice(1, -1);
}

function filled(texts: Readonly<Record<string, string>>, place: HarnessPlace, write = inJson): Record<string, string> {
  return Object.fromEntries(Object.entries(texts).map(([name, text]) => [name, fill(text, place, write)]));
}

/** A harness's data for one place. Files and configurations in variables are JSON or TOML, whose strings agree here. */
export function placeHarness(
  { args, env, files, trial }: Harness,
  place: HarnessPlace,
): Pick<Harness, "args" | "env" | "files" | "trial"> {
  const plain = (value: string) => value;
  return {
    args: args.map((text) => fill(text, place, plain)),
    env: { ...filled(env, place, plain) },
    files: filled(files, place),
    trial: trial.map((reply) => placeReply(reply, place)),
  };
}

function placeReply(reply: ScriptedReply, place: HarnessPlace): ScriptedReply {
  if (reply.calls === undefined) return reply;
  const calls = reply.calls.map((call) => ({ ...call, arguments: fill(call.arguments ?? "{}", place, inJson) }));
  return { ...reply, calls };
}
