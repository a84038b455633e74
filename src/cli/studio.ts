import { createApp, type GatewayApp } from "../../gateway/app.ts";
import { listen } from "../app/listen.ts";
import { openStoreForReading } from "../app/open_store.ts";
import { pageFiles } from "../app/page_build/page_files.ts";
import { hex } from "../core/clock.ts";
import { asLeydenError, FormatError } from "../core/errors.ts";
import { didYouMean } from "../core/nearest.ts";
import { readRunConfig } from "../experiment/config.ts";
import { RunView } from "../experiment/run_view.ts";
import type { Store } from "../schema/store.ts";
import { UsageError } from "./args.ts";
import type { Command, CommandContext } from "./command.ts";
import { runTokenizer, storePath } from "./recorded_run.ts";

const drainMs = 2_000;

/** `leyden studio`: looks into a run that was recorded. */
export const command: Command = {
  name: "studio",
  summary: "Opens a run's folder in the studio, without changing it, or writes it as one file to pass on.",
  positionals: { usage: "RUN", min: 1, max: 1 },
  options: {
    export: { kind: "text", value: "FILE.html", summary: "Write the run as one file that any browser opens, and end." },
    rollouts: {
      kind: "integer",
      value: "N",
      summary: "With --export: rollouts that keep their tokens, those of the last updates first.",
      fallback: 200,
      min: 0,
    },
    compare: { kind: "text", value: "RUN2", summary: "Compare with another run, which lies beside RUN." },
    model: { kind: "text", value: "DIR", summary: "Model whose tokenizer reads the tokens; the run's by default." },
    port: { kind: "integer", value: "N", summary: "Port to listen on; 0 takes a free one.", fallback: 0, min: 0 },
  },
  run: studio,
};

async function openRun(context: CommandContext, store: Store, run: string): Promise<RunView> {
  const { files } = context.platform;
  const tokenizer = await runTokenizer(context, run);
  const isFolder = (await storePath(files, run)) !== run;
  return new RunView({
    store,
    files,
    runFolder: isFolder ? files.absolute(run) : "",
    name: files.absolute(run).split(/[/\\]/).at(-1) ?? run,
    config: isFolder ? await readRunConfig(files, run) : null,
    ...(tokenizer === null ? {} : { tokenBytes: (id: number) => tokenizer.tokenBytes(id) }),
  });
}

/** Id of the run to compare with. @throws FormatError "run_missing" */
async function otherRun(view: RunView, { args, platform }: CommandContext): Promise<string | null> {
  const named = args.text("compare");
  if (named === undefined) return null;
  const known = (await view.runs()).map(({ id }) => id);
  const id = platform.files.absolute(named).split(/[/\\]/).at(-1) ?? "";
  const folder = platform.files.absolute(platform.files.join(args.positionals[0] as string, "..", id));
  if (known.includes(id) && platform.files.absolute(named) === folder) return id;
  throw new FormatError("run_missing", `${named} is no run that lies beside ${args.positionals[0]}.`, {
    do: known.length === 0 ? "Move both runs into one folder." : didYouMean(id, known),
  });
}

async function studio(context: CommandContext): Promise<number> {
  const { args, platform, note } = context;
  const run = args.positionals[0] as string;
  const target = args.text("export");
  if (target !== undefined && args.has("compare")) {
    throw new UsageError("--export writes one run; --compare opens two.", { do: "Leave one of them out." });
  }
  const store = await openStoreForReading(platform, await storePath(platform.files, run));
  try {
    const key = hex(platform.entropy.bytes(24));
    const view = await openRun(context, store, run);
    const other = await otherRun(view, context);
    const app = createApp({
      store,
      model: null,
      clock: platform.clock,
      entropy: platform.entropy,
      config: { key },
      studio: view,
      page: pageFiles(platform, { kind: "record", needsKey: true, room: false }),
      report: (fault) => note(`studio: ${asLeydenError(fault).message}`),
    });
    if (target === undefined) await serveStudio(context, app, key, other);
    else await writeReport(context, app, key, target);
  } finally {
    await store.close();
  }
  return 0;
}

async function serveStudio(context: CommandContext, app: GatewayApp, key: string, other: string | null): Promise<void> {
  const { args, platform, json, print, printJson, note, stopSignal } = context;
  const stop = stopSignal();
  platform.terminal.outliveReader();
  const served = await listen(platform, app, { host: "127.0.0.1", port: args.requireNumber("port") });
  const place = other === null ? "" : `&at=${encodeURIComponent(`/compare?run=${encodeURIComponent(other)}`)}`;
  const address = `${served.url}/studio/#key=${key}${place}`;
  if (json) printJson({ url: served.url, studio: address, key });
  else print(`Studio: ${address}`);
  note("Ctrl+C stops.");
  if (!stop.aborted) await new Promise((resolve) => stop.addEventListener("abort", resolve, { once: true }));
  await served.close(drainMs);
}

async function writeReport(
  { args, platform, json, print, printJson }: CommandContext,
  app: GatewayApp,
  key: string,
  target: string,
): Promise<void> {
  const path = `/studio/api/report?rollouts=${args.requireNumber("rollouts")}`;
  const response = await app.request(path, { headers: { authorization: `Bearer ${key}` } });
  if (!response.ok) {
    throw new FormatError("report_failed", `The report could not be made: ${await response.text()}`, {
      do: "Check that the run's store and configuration are whole.",
    });
  }
  const bytes = new Uint8Array(await response.arrayBuffer());
  const file = platform.files.absolute(target);
  await platform.files.write(file, bytes);
  if (json) printJson({ file, bytes: bytes.length });
  else print(`Wrote ${file} (${(bytes.length / 1e6).toFixed(1)} MB): one file, which any browser opens.`);
}
