import { fileURLToPath } from "node:url";
import { type DemoResult, runDemo } from "../app/demo.ts";
import type { SuccessSummary } from "../experiment/success.ts";
import type { Command, CommandContext } from "./command.ts";
import { counted } from "./counted.ts";
import { exampleLines } from "./demo_example.ts";
import { percent } from "./percent.ts";
import { failureLines, LiveTable } from "./progress.ts";

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
  const out = args.text("out") ?? platform.files.join("runs", `demo-${stamp}`);
  const result = await runDemo(platform, {
    configPath: fileURLToPath(new URL("../../examples/calc", import.meta.url)),
    seed: args.requireNumber("seed"),
    runFolder: platform.files.absolute(out),
    overrides: args.list("set"),
    signal: context.stopSignal(),
    stop: context.stop,
    reporter: table,
    phase: say,
    measured: (summary, failures) => {
      say(`  ${successText(summary)}`);
      for (const line of failureLines(failures, summary.tasks * summary.k)) say(`  ${line}`);
    },
    progress: (finished, total) => table.status(`${finished}/${total} rollouts`),
    say,
  }).finally(() => table.clear());
  if (context.json) context.printJson(result);
  else
    for (const line of [...demoLines(result), ...exampleLines(result.example), ...nextLines(out)]) context.print(line);
  for (const line of table.failuresInAll()) note(line);
  return 0;
}

function successText({ pass1, ci95: [low, high], tasks }: SuccessSummary): string {
  return `${percent(pass1)} of ${counted(tasks, "task")} solved (95 %: ${percent(low)} to ${percent(high)})`;
}

/** The demo's end for people. */
export function demoLines(result: DemoResult): string[] {
  const { before, after, after_ci: afterCi, tasks, updates, adapter } = result;
  const [low, high] = afterCi;
  const seconds = (value: number): string => `${value.toFixed(0)} s`;
  const [training, all] = [seconds(result.training_seconds), seconds(result.seconds)];
  return [
    `Held-out success: ${percent(before)} before, ${percent(after)} after`,
    `(95 % of the trained model: ${percent(low)} to ${percent(high)}; ${counted(tasks, "task")})`,
    `${counted(updates, "update")} in ${training}; with both measurements ${all}, on ${adapter}`,
  ];
}

/** What to type after the demo, whose run is in a folder. */
function nextLines(run: string): string[] {
  const place = /^[\w./\\:~+-]+$/.test(run) ? run : `'${run.replaceAll("'", "'\\''")}'`;
  const next: readonly (readonly [command: string, what: string])[] = [
    [`npx leyden studio ${place}`, "every rollout of it, call by call and token by token"],
    [`npx leyden export my-model --model ${place}`, "the trained model as a Hugging Face folder"],
    ['npx leyden try -- python3 my_agent.py "a task"', "your own agent, once, before any training"],
  ];
  const width = Math.max(...next.map(([command]) => command.length));
  return ["", `The run is in ${run}. Next:`, ...next.map(([command, what]) => `  ${command.padEnd(width)}  # ${what}`)];
}
