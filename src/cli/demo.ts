import { fileURLToPath } from "node:url";
import { runDemo } from "../app/demo.ts";
import type { Command, CommandContext } from "./command.ts";
import { LiveTable } from "./progress.ts";

/** `leyden demo`: an agent gets better at its task while you watch. */
export const command: Command = {
  name: "demo",
  summary: "Trains the calculator agent's model and shows its success before and after.",
  options: {
    seed: { kind: "integer", value: "N", summary: "Seed of tasks and draws.", fallback: 1, min: 0 },
    out: { kind: "text", value: "DIR", summary: "Folder of the run; default runs/demo-<time>." },
    set: { kind: "list", value: "a.b=c", summary: "Overrides one value of the configuration." },
  },
  run: demo,
};

async function demo(context: CommandContext): Promise<number> {
  const { args, platform, note } = context;
  const stamp = new Date(platform.clock.now()).toISOString().replace(/[:.]/g, "-");
  const table = new LiveTable(context);
  const say = (line: string): void => {
    table.clear();
    note(line);
  };
  const result = await runDemo(platform, {
    configPath: fileURLToPath(new URL("../../examples/calc", import.meta.url)),
    seed: args.requireNumber("seed"),
    runFolder: platform.files.absolute(args.text("out") ?? platform.files.join("runs", `demo-${stamp}`)),
    overrides: args.list("set"),
    signal: context.stopSignal(),
    reporter: table,
    phase: say,
    progress: (finished, total) => table.status(`${finished}/${total} rollouts`),
    say,
  }).finally(() => table.clear());
  if (context.json) context.printJson(result);
  else {
    const [low, high] = result.after_ci;
    context.print(`Held-out success: ${percent(result.before)} before, ${percent(result.after)} after`);
    context.print(`(95 % of the trained model: ${percent(low)} to ${percent(high)}; ${result.tasks} tasks)`);
    context.print(`${result.updates} updates in ${result.seconds.toFixed(0)} s on ${result.adapter}`);
  }
  return 0;
}

function percent(share: number): string {
  return `${(100 * share).toFixed(1)} %`;
}
