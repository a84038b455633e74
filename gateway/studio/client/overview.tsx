import type { JSX } from "hono/jsx/dom/jsx-runtime";
import type { MetricsRecord } from "../../../src/schema/studio.ts";
import { Chart } from "./chart.tsx";
import { chartsOf } from "./chart_list.ts";
import { useStudio } from "./context.ts";
import { durationText, numberText } from "./format.ts";
import { useLoaded, useStatus } from "./loading.ts";
import { lastOf } from "./metrics.ts";
import { Notice } from "./notice.tsx";
import { hrefTo } from "./router.ts";

/** How the run goes, in a few numbers and charts. */
export function Overview(): JSX.Element {
  const { api, run, say } = useStudio();
  const metrics = useLoaded(
    "metrics",
    async () => (await api.metrics(-1)).lines,
    (changes) => changes.updated,
  );
  const lines = metrics.value ?? [];
  const isServed = run.config === null && run.status === null;
  if (isServed && metrics.value !== null && lines.length === 0) return <Served />;
  return (
    <section aria-labelledby="st-overview">
      <h2 id="st-overview" class="st-visually-hidden">
        {say("nav.overview")}
      </h2>
      <Notice loaded={metrics} />
      <Tiles lines={lines} />
      {metrics.value !== null && lines.length === 0 ? <p class="st-empty">{say("overview.empty")}</p> : null}
      <div class="st-charts">
        {chartsOf(lines, say).map(({ id, ...chart }) => (
          <Chart key={id} {...chart} />
        ))}
      </div>
    </section>
  );
}

/** What a gateway records where nothing is trained. */
function Served(): JSX.Element {
  const { say } = useStudio();
  return (
    <section class="st-no-run" aria-labelledby="st-overview">
      <h2 id="st-overview">{say("noRun.title")}</h2>
      <p>{say("overview.served")}</p>
      <p>
        <a href={hrefTo(["rollouts"])}>{say("overview.rollouts")}</a>
      </p>
    </section>
  );
}

function Tile({
  label,
  value,
  detail,
  href,
}: {
  label: string;
  value: string;
  detail?: string;
  href?: string;
}): JSX.Element {
  return (
    <div class="st-tile">
      <dt>{label}</dt>
      <dd>
        {href === undefined ? (
          <span class="st-tile-value">{value}</span>
        ) : (
          <a class="st-tile-value" href={href}>
            {value}
          </a>
        )}
        {detail === undefined ? null : <span class="st-tile-detail">{detail}</span>}
      </dd>
    </div>
  );
}

function Tiles({ lines }: { lines: readonly MetricsRecord[] }): JSX.Element {
  const { run, say, language } = useStudio();
  const { status } = useStatus();
  const number = (name: string): string => numberText(lastOf(lines, name), language);
  const last = lines.at(-1);
  const updates = status?.updates ?? run.config?.train.updates;
  const failed = lastOf(lines, "training/n_rollouts_failed") ?? 0;
  const trained = new URLSearchParams({ update: String(last?.step ?? "") });
  return (
    <dl class="st-tiles">
      <Tile
        label={say("tile.update")}
        value={numberText((last?.step as number | undefined) ?? 0, language)}
        {...(updates === undefined ? {} : { detail: say("tile.of", { n: updates }) })}
      />
      <Tile
        label={say("tile.reward")}
        value={number("training/reward")}
        detail={gain(lines, "training/reward", language)}
      />
      <Tile label={say("tile.validation")} value={number("val/reward")} detail={gain(lines, "val/reward", language)} />
      <Tile label={say("tile.entropy")} value={number("actor/entropy")} />
      <Tile label={say("tile.speed")} value={number("perf/throughput")} detail={say("unit.tokensPerSecond")} />
      <Tile label={say("tile.time")} value={durationText(lastOf(lines, "timing_s/step") ?? 0, language)} />
      <Tile
        label={say("tile.rollouts")}
        value={number("training/n_rollouts")}
        detail={say("tile.failed", { n: failed })}
        {...(last === undefined ? {} : { href: hrefTo(["rollouts"], trained) })}
      />
      <Tile label={say("tile.age")} value={number("async/age_max")} detail={say("unit.versions")} />
    </dl>
  );
}

/** How far a number has come since it was first there, with its sign. */
function gain(lines: readonly MetricsRecord[], name: string, language: "en" | "ko"): string {
  const known = lines.flatMap((line) => (typeof line[name] === "number" ? [line[name]] : []));
  const [first] = known;
  const last = known.at(-1);
  if (first === undefined || last === undefined || known.length < 2) return "";
  const difference = last - first;
  return `${difference >= 0 ? "+" : ""}${numberText(difference, language)}`;
}
