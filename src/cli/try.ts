import { ReplyScript } from "../../gateway/calls/reply_script.ts";
import { loadScript } from "../app/load_script.ts";
import { runTrial, type Trial, type TrialResult } from "../app/trial/run_trial.ts";
import { layOutHarness, trialScript } from "../app/trial/trial_agent.ts";
import { openTrialGateway, type TrialGateway } from "../app/trial/trial_gateway.ts";
import { hex } from "../core/clock.ts";
import { EnvironmentError } from "../core/errors.ts";
import { didYouMean } from "../core/nearest.ts";
import type { Harness } from "../rollout/harnesses/harness.ts";
import { harnesses } from "../rollout/harnesses/registry.ts";
import type { HostPlatform } from "../schema/platform.ts";
import type { ReplySource, ScriptedReply } from "../schema/script.ts";
import { UsageError } from "./args.ts";
import type { Command, CommandContext } from "./command.ts";
import { isInstalled, listHarnesses } from "./try_list.ts";
import { reportTrial, shortName } from "./try_report.ts";

/** What the tiny model says to an agent that nobody has written a script for: it must not make it act. */
const politeReplies: readonly ScriptedReply[] = [{ text: "Hello from Leyden's trial. There is nothing left to do." }];

/** `leyden try`: one run of somebody's agent, and what of it could be trained. */
export const command: Command = {
  name: "try",
  summary: "Runs an agent once and says what was recorded of it, and whether it could be trained.",
  positionals: { usage: "HARNESS | -- COMMAND...", min: 0, max: Number.POSITIVE_INFINITY },
  options: {
    list: { kind: "flag", summary: "Show the agents that can be named, and which are installed." },
    keep: { kind: "flag", summary: "Keep the scratch folder: output, files, and the recorded calls." },
    model: {
      kind: "text",
      value: "DIR",
      summary: "Model that answers; by default a tiny one whose replies are scripted.",
    },
    script: { kind: "text", value: "FILE", summary: "Replies for the model to say: JSON lines, as for leyden serve." },
    url: { kind: "text", value: "URL", summary: "A running gateway to use instead of one of its own." },
    key: { kind: "text", value: "K", summary: "With --url: the gateway's key.", fallback: "" },
    timeout: { kind: "number", value: "S", summary: "Seconds the agent may take.", fallback: 300, min: 1 },
  },
  run: runTry,
};

/** What is tried: an agent that Leyden knows, or a command line. */
type Subject = { readonly harness: Harness } | { readonly commandLine: readonly string[] };

/** @throws UsageError */
function subjectOf({ args, platform }: CommandContext): Subject {
  const { positionals } = args;
  const typed = platform.terminal.args;
  const dashes = typed.indexOf("--");
  const after = dashes < 0 ? 0 : typed.length - dashes - 1;
  if (after > 0 && after === positionals.length) return { commandLine: positionals };
  const [name, extra] = positionals;
  const harness = harnesses.find((known) => known.name === name || known.program === name);
  if (harness !== undefined && extra === undefined && after === 0) return { harness };
  const own = { do: `To run a command of your own: leyden try -- ${positionals.join(" ") || "COMMAND"}` };
  if (name === undefined) throw new UsageError("leyden try needs an agent: leyden try --list shows which.", own);
  if (harness !== undefined) throw new UsageError(`leyden try ${harness.name} takes nothing more.`, own);
  const names = harnesses.map((known) => known.name);
  throw new UsageError(`There is no harness "${name}". ${didYouMean(name, names)}`, own);
}

async function runTry(context: CommandContext): Promise<number> {
  const { args, platform } = context;
  if (args.flag("list")) return await listHarnesses(context);
  const subject = subjectOf(context);
  await requireInstalled(platform, subject);
  const { files } = platform;
  const folder = await files.makeTempFolder("leyden-try-");
  try {
    const result = await tryIn(context, subject, folder);
    const kept = args.flag("keep") ? folder : null;
    reportTrial(context, result, { harness: nameOf(subject), advice: startAdvice(subject, result.end), folder: kept });
    if (result.end.stopped === "cancelled") return 2;
    return result.end.exit?.code === 0 && result.trainable ? 0 : 1;
  } finally {
    if (!args.flag("keep")) await files.remove(folder);
  }
}

/** @throws EnvironmentError "not_installed" */
async function requireInstalled(platform: HostPlatform, subject: Subject): Promise<void> {
  if (!("harness" in subject) || (await isInstalled(platform, subject.harness.program))) return;
  const { name, program, package: from } = subject.harness;
  throw new EnvironmentError("not_installed", `${name} is not installed: there is no program "${program}".`, {
    do: `Run: npm install -g ${from}`,
    data: { harness: name },
  });
}

async function tryIn(context: CommandContext, subject: Subject, folder: string): Promise<TrialResult> {
  const { args, platform } = context;
  const note = context.json ? () => {} : context.note;
  const stop = new AbortController();
  const asked = context.stopSignal();
  asked.addEventListener("abort", () => stop.abort("cancelled"), { once: true });
  const trial = (gateway: TrialGateway): Trial => ({
    rolloutId: `try-${hex(platform.entropy.bytes(4))}`,
    gateway,
    folder,
    timeoutMs: args.requireNumber("timeout") * 1000,
    signal: stop.signal,
    prepare: async (access) =>
      "harness" in subject
        ? await layOutHarness(platform.files, subject.harness, { folder, access, program: subject.harness.program })
        : { command: subject.commandLine, cwd: "." },
  });
  const url = args.text("url");
  note(`Running ${shortName(nameOf(subject))} in ${"harness" in subject ? folder : "this folder"} …`);
  if ("harness" in subject && (url !== undefined || args.text("model") !== undefined)) {
    note("It asks nobody before it acts: what its model tells it to do, it does with your rights.");
  }
  if (url !== undefined) return await runTrial(platform, trial({ url, key: args.requireText("key") }));
  const script = await scriptFor(context, subject, folder);
  const { openTrialModel } = await import("../app/trial/trial_model.ts");
  const scratch = platform.files.join(folder, "model");
  const model = await openTrialModel(platform, { folder: args.text("model"), scratch, script });
  const store = args.flag("keep") ? platform.files.join(folder, "store.sqlite") : "memory";
  const gateway = await openTrialGateway(platform, { model, store, say: note });
  try {
    return await runTrial(platform, trial(gateway));
  } finally {
    await gateway.close();
  }
}

/** Who writes the replies of the trial's own gateway; null lets the model draw them. */
async function scriptFor(
  { args, platform }: CommandContext,
  subject: Subject,
  folder: string,
): Promise<ReplySource | null> {
  const file = args.text("script");
  if (file !== undefined) return new ReplyScript(await loadScript(platform.files, file));
  if (args.text("model") !== undefined) return null;
  return new ReplyScript("harness" in subject ? trialScript(platform.files, subject.harness, folder) : politeReplies);
}

function nameOf(subject: Subject): string {
  return "harness" in subject ? subject.harness.name : subject.commandLine.join(" ");
}

/** What to do about a program that could not be started; null for one that was. */
function startAdvice(subject: Subject, { startError }: TrialResult["end"]): string | null {
  if (startError === null) return null;
  const [command = "", ...more] = "commandLine" in subject ? subject.commandLine : [];
  const isOneText = more.length === 0 && command.trim().includes(" ");
  if (isOneText) return `Leave out the quotes around the whole command: leyden try -- ${command.trim()}`;
  return startError.do === "" ? null : startError.do;
}
