import { openStoreForReading } from "../app/open_store.ts";
import { FormatError } from "../core/errors.ts";
import { nearest } from "../core/nearest.ts";
import { rolloutTree } from "../rl/trie/rollout_tree.ts";
import type { Store } from "../schema/store.ts";
import type { Rollout } from "../schema/wire.ts";
import type { Command, CommandContext } from "./command.ts";
import { rolloutText } from "./inspect_rollout.ts";
import { rolloutLine, rolloutSummary, rolloutTable } from "./inspect_table.ts";
import { runTokenizer, storePath } from "./recorded_run.ts";

/** `leyden inspect`: what a run recorded, also while it is running. */
export const command: Command = {
  name: "inspect",
  summary: "Shows a run's rollouts, or one rollout call by call.",
  positionals: { usage: "RUN [ROLLOUT]", min: 1, max: 2 },
  options: {
    model: { kind: "text", value: "DIR", summary: "Model whose tokenizer reads the tokens; the run's by default." },
  },
  run: inspect,
};

async function inspect(context: CommandContext): Promise<number> {
  const { args, platform } = context;
  const [run, id] = args.positionals as [string, string?];
  const store = await openStoreForReading(platform, await storePath(platform.files, run));
  try {
    if (id === undefined) await printTable(context, store);
    else await printRollout(context, store, run, id);
  } finally {
    await store.close();
  }
  return 0;
}

async function printTable(context: CommandContext, store: Store): Promise<void> {
  const lines = [];
  for (const rollout of await store.rollouts()) {
    const line = await rolloutLine(store, rollout);
    lines.push(line);
    if (context.json) context.printJson(line);
  }
  if (context.json) return;
  const { isScreen, columns } = context.platform.terminal;
  if (lines.length > 0) {
    for (const line of rolloutTable(lines, isScreen ? columns : Number.POSITIVE_INFINITY)) context.print(line);
  }
  context.print(rolloutSummary(lines));
}

async function printRollout(context: CommandContext, store: Store, run: string, id: string): Promise<void> {
  const rollout = await requireRollout(store, id);
  if (context.json) {
    context.printJson(rolloutTree(id, await store.calls(id)));
    return;
  }
  for (const line of await rolloutText(store, rollout, await runTokenizer(context, run))) context.print(line);
}

/** @throws FormatError "rollout_not_found" */
async function requireRollout(store: Store, id: string): Promise<Rollout> {
  const rollout = await store.rollout(id);
  if (rollout !== null) return rollout;
  const ids = (await store.rollouts()).map((known) => known.rollout_id);
  const near = nearest(id, ids);
  throw new FormatError("rollout_not_found", `There is no rollout "${id}" among ${ids.length}.`, {
    do: near === undefined ? "Leave the id out to see all of them." : `Did you mean "${near}"?`,
    data: { rollout: id },
  });
}
