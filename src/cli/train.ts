import { loadConfig } from "../app/load_config.ts";
import { withKeptReward } from "../app/reward/kept_reward.ts";
import { runExperiment } from "../app/run_experiment.ts";
import type { RunResult } from "../app/run_request.ts";
import { watchedRun } from "../app/watched_run.ts";
import { CancelledError, FormatError } from "../core/errors.ts";
import { RunFolder } from "../experiment/run_folder.ts";
import { type Args, UsageError } from "./args.ts";
import type { Command, CommandContext } from "./command.ts";
import { LiveTable } from "./progress.ts";

/** Options that change the configuration, beside --set. */
function overridesOf(args: Args): string[] {
  const out = [...args.list("set")];
  const seed = args.number("seed");
  const updates = args.number("updates");
  const mode = args.text("mode");
  if (seed !== undefined) out.push(`seed=${seed}`);
  if (updates !== undefined) out.push(`train.updates=${updates}`);
  if (mode !== undefined) out.push(`schedule.mode=${mode}`);
  return out;
}

/** True when a reward is asked for by name. */
function namesReward(args: Args): boolean {
  return args.list("set").some((override) => /^rollout\.(reward|grader)/.test(override));
}

/** `leyden train`: the whole loop, from agents to better weights. */
export const command: Command = {
  name: "train",
  summary: "Trains the policy of an experiment: runs agents, records their calls, updates.",
  positionals: { usage: "CONFIG", min: 1, max: 1 },
  options: {
    out: { kind: "text", value: "DIR", summary: "Folder of the run; default runs/<time>." },
    resume: { kind: "flag", summary: "Continue the run in --out from its newest checkpoint." },
    seed: { kind: "integer", value: "N", summary: "Seed of tasks and draws.", min: 0 },
    updates: { kind: "integer", value: "N", summary: "Optimizer steps in all.", min: 0 },
    mode: { kind: "text", value: "MODE", summary: "Schedule.", choices: ["sync", "collocated", "interleaved"] },
    port: { kind: "integer", value: "N", summary: "Port of the gateway and its /metrics; default a free one.", min: 0 },
    otel: { kind: "text", value: "URL", summary: "OpenTelemetry collector (OTLP/HTTP) that gets the run's spans." },
    set: { kind: "list", value: "a.b=c", summary: "Overrides one value of the configuration." },
  },
  run: train,
};

async function train(context: CommandContext): Promise<number> {
  const { args, platform, note } = context;
  const given = await loadConfig(platform.files, args.positionals[0] as string, overridesOf(args));
  const { folder } = given;
  const stamp = new Date(platform.clock.now()).toISOString().replace(/[:.]/g, "-");
  const runFolder = platform.files.absolute(args.text("out") ?? platform.files.join("runs", stamp));
  if (args.flag("resume")) await requireRun(context, runFolder);
  const table = new LiveTable(context);
  const signal = context.stopSignal();
  const port = args.number("port");
  const otel = args.text("otel");
  const say = (line: string): void => {
    table.clear();
    note(line);
  };
  const keepsReward = args.flag("resume") && !namesReward(args);
  const config = keepsReward ? await withKeptReward(platform.files, runFolder, given.config, say) : given.config;
  const { stop } = context;
  const watched = watchedRun(platform, { config, configFolder: folder, runFolder, say, stop });
  const result = await runExperiment(platform, {
    ...{ config, configFolder: folder, runFolder, ...watched },
    resume: args.flag("resume"),
    signal,
    reporter: table,
    ...(port === undefined ? {} : { port }),
    ...(otel === undefined ? {} : { otel }),
    say,
  }).catch(async (thrown: unknown) => {
    table.clear();
    if (signal.aborted && thrown instanceof CancelledError) note(await whereItStands(context, runFolder));
    throw thrown;
  });
  if (context.json) context.printJson(result);
  else context.print(summaryOf(context, result));
  for (const line of table.failuresInAll()) note(line);
  return 0;
}

/** @throws UsageError without --out; FormatError "run_missing" where it holds no run */
async function requireRun({ args, platform }: CommandContext, runFolder: string): Promise<void> {
  if (!args.has("out")) {
    throw new UsageError("--resume needs --out.", { do: "Pass --out DIR with the folder of the run to continue." });
  }
  if (await new RunFolder(platform.files, runFolder).exists()) return;
  throw new FormatError("run_missing", `There is no run in ${runFolder}.`, {
    do: "Correct --out, or leave out --resume to start a run there.",
  });
}

/** What a stopped run has saved, and how to go on. */
async function whereItStands({ platform }: CommandContext, runFolder: string): Promise<string> {
  const checkpoint = await new RunFolder(platform.files, runFolder).latestCheckpoint();
  const saved = checkpoint === null ? "No update is saved yet" : `Update ${checkpoint.state.update} is saved`;
  return `${saved} in ${runFolder}; pass --resume to go on.`;
}

function summaryOf({ platform }: CommandContext, { run, updates, seconds, adapter }: RunResult): string {
  const line = `Trained to update ${updates} in ${seconds.toFixed(0)} s on ${adapter}`;
  return updates === 0 ? line : `${line}\nModel: ${platform.files.join(run, "checkpoints", `step_${updates}`)}`;
}
