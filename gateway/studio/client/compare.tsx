import { useEffect } from "hono/jsx/dom";
import type { JSX } from "hono/jsx/dom/jsx-runtime";
import type { MetricsRecord } from "../../../src/schema/studio.ts";
import { Chart } from "./chart.tsx";
import { comparedCharts } from "./chart_list.ts";
import { useStudio } from "./context.ts";
import { numberText } from "./format.ts";
import { useLiveState } from "./live_state.ts";
import { useLoaded } from "./loading.ts";
import { lastOf } from "./metrics.ts";
import { Notice } from "./notice.tsx";
import { goTo, hrefTo, type Route } from "./router.ts";
import { configDifferences, type OtherRun, runOfFile } from "./run_file.ts";

/** Two runs over each other. */
export function Compare({ route }: { route: Route }): JSX.Element {
  const { api, run, say } = useStudio();
  const chosen = route.query.get("run") ?? "";
  const [file, setFile] = useLiveState<OtherRun | null>(null);
  const own = useLoaded(
    "metrics",
    async () => (await api.metrics(-1)).lines,
    (changes) => changes.updated,
  );
  const other = useLoaded<OtherRun | null>(`compare ${chosen}`, async () => {
    if (chosen === "") return null;
    const { lines, config } = await api.metrics(-1, chosen);
    return { name: chosen, lines, config: config ?? null };
  });
  useEffect(() => {
    if (chosen !== "") setFile(null);
  }, [chosen]);
  const shown = file ?? other.value;
  const lines = own.value ?? [];
  const names =
    shown === null ? null : ([run.name, shown.name === run.name ? `${shown.name} (2)` : shown.name] as const);
  return (
    <section aria-labelledby="st-compare-title">
      <h2 id="st-compare-title">{say("nav.compare")}</h2>
      <Pick chosen={chosen} file={file} onFile={setFile} />
      <Notice loaded={own} />
      {other.error === null ? null : (
        <p class="st-error" role="alert">
          {other.error}
        </p>
      )}
      {shown === null || names === null ? (
        <p class="st-empty">{say("compare.empty")}</p>
      ) : (
        <div>
          <Ends own={lines} other={shown.lines} names={names} />
          <div class="st-charts">
            {comparedCharts(lines, shown.lines, names, say).map(({ id, ...chart }) => (
              <Chart key={id} {...chart} />
            ))}
          </div>
          <Differences other={shown} names={names} />
        </div>
      )}
    </section>
  );
}

interface PickProps {
  readonly chosen: string;
  readonly file: OtherRun | null;
  onFile(run: OtherRun): void;
}

function Pick({ chosen, file, onFile }: PickProps): JSX.Element {
  const { api, say } = useStudio();
  const runs = useLoaded("runs", () => api.runs());
  const [error, setError] = useLiveState("");
  const read = async (input: HTMLInputElement): Promise<void> => {
    const picked = input.files?.[0];
    if (picked === undefined) return;
    const found = runOfFile(picked.name, await picked.text());
    setError(found === null ? say("compare.badFile", { name: picked.name }) : "");
    if (found !== null) onFile(found);
  };
  return (
    <div class="st-filters">
      <label class="st-field">
        <span>{say("compare.run")}</span>
        <select
          value={chosen}
          onChange={(event) =>
            goTo(hrefTo(["compare"], new URLSearchParams({ run: (event.target as HTMLSelectElement).value })), true)
          }
        >
          <option value="">{say("compare.none")}</option>
          {(runs.value ?? []).map(({ id, updates }) => (
            <option key={id} value={id} selected={id === chosen}>
              {say("compare.option", { id, n: updates })}
            </option>
          ))}
        </select>
      </label>
      <label class="st-field">
        <span>{say("compare.file")}</span>
        <input
          type="file"
          accept=".html,.json,.jsonl"
          onChange={(event) => void read(event.target as HTMLInputElement)}
        />
      </label>
      {file === null ? null : (
        <p class="st-hint">{say("compare.fromFile", { name: file.name, n: file.lines.length })}</p>
      )}
      {error === "" ? null : (
        <p class="st-error" role="alert">
          {error}
        </p>
      )}
    </div>
  );
}

const ends = [
  ["training/reward", "tile.reward"],
  ["val/reward", "tile.validation"],
  ["actor/entropy", "tile.entropy"],
  ["perf/throughput", "tile.speed"],
  ["timing_s/step", "tile.time"],
  ["async/age_max", "tile.age"],
] as const;

interface PairProps {
  readonly own: readonly MetricsRecord[];
  readonly other: readonly MetricsRecord[];
  readonly names: readonly [string, string];
}

/** Where both stand at their ends. */
function Ends({ own, other, names }: PairProps): JSX.Element {
  const { say, language } = useStudio();
  const rows = [
    [say("tile.update"), own.at(-1)?.step as number, other.at(-1)?.step as number] as const,
    ...ends.map(([name, text]) => [say(text), lastOf(own, name), lastOf(other, name)] as const),
  ];
  return (
    <table class="st-table">
      <caption>{say("compare.ends")}</caption>
      <thead>
        <tr>
          <th scope="col">{say("compare.number")}</th>
          {names.map((name) => (
            <th key={name} scope="col">
              {name}
            </th>
          ))}
          <th scope="col">{say("compare.difference")}</th>
        </tr>
      </thead>
      <tbody>
        {rows.map(([name, a, b]) => (
          <tr key={name}>
            <th scope="row">{name}</th>
            <td class="st-numeric">{numberText(a, language)}</td>
            <td class="st-numeric">{numberText(b, language)}</td>
            <td class="st-numeric">{numberText(a == null || b == null ? null : b - a, language)}</td>
          </tr>
        ))}
      </tbody>
    </table>
  );
}

function Differences({ other, names }: { other: OtherRun; names: readonly [string, string] }): JSX.Element | null {
  const { run, say } = useStudio();
  if (run.config === null || other.config === null) return null;
  const found = configDifferences(run.config, other.config);
  return (
    <table class="st-table">
      <caption>{say("compare.config", { n: found.length })}</caption>
      <thead>
        <tr>
          <th scope="col">{say("compare.setting")}</th>
          {names.map((name) => (
            <th key={name} scope="col">
              {name}
            </th>
          ))}
        </tr>
      </thead>
      <tbody>
        {found.map(([path, here, there]) => (
          <tr key={path}>
            <th scope="row">
              <code>{path}</code>
            </th>
            <td>
              <code>{here}</code>
            </td>
            <td>
              <code>{there}</code>
            </td>
          </tr>
        ))}
      </tbody>
    </table>
  );
}
