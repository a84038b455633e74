import { useEffect, useRef } from "hono/jsx/dom";
import type { JSX } from "hono/jsx/dom/jsx-runtime";
import type { DeviceSpan, DeviceWork } from "../../../src/schema/device_timeline.ts";
import type { MetricsRecord } from "../../../src/schema/studio.ts";
import { useStudio } from "./context.ts";
import { durationText, numberText } from "./format.ts";
import { useLiveState } from "./live_state.ts";
import { useLoaded } from "./loading.ts";
import { column } from "./metrics.ts";
import { Notice } from "./notice.tsx";
import { cssColor, useTheme } from "./theme.ts";
import { UpdateBars } from "./update_bars.tsx";

/** Kinds of work from top to bottom, with their colours. */
export const works: readonly (readonly [DeviceWork, string])[] = [
  ["prefill", "st-a"],
  ["decode", "st-b"],
  ["train", "st-d"],
  ["optimizer", "st-c"],
  ["score", "st-e"],
];

/** Seconds that may be in sight; 0 is all of them. */
const windows = [10, 30, 120, 600, 0] as const;
const pollMs = 1000;
const kept = 20_000;

/** What the device did: stretch by stretch of late, and update by update from the beginning. */
export function Timeline(): JSX.Element {
  const { api, say } = useStudio();
  const metrics = useLoaded(
    "metrics",
    async () => (await api.metrics(-1)).lines,
    (changes) => changes.updated,
  );
  const spans = useSpans();
  const lines = metrics.value ?? [];
  return (
    <section aria-labelledby="st-timeline-title">
      <h2 id="st-timeline-title">{say("nav.timeline")}</h2>
      <WorkLegend />
      <Lanes spans={spans} lines={lines} />
      <h3>{say("timeline.updates")}</h3>
      <Notice loaded={metrics} />
      {lines.length === 0 ? <p class="st-empty">{say("overview.empty")}</p> : <UpdateBars lines={lines} />}
    </section>
  );
}

/** Stretches so far; follows a run that is at work. */
function useSpans(): readonly DeviceSpan[] {
  const { api, clock } = useStudio();
  const [spans, setSpans] = useLiveState<readonly DeviceSpan[]>([]);
  useEffect(() => {
    const stop = new AbortController();
    const follow = async (): Promise<void> => {
      let after = 0;
      let known: DeviceSpan[] = [];
      while (!stop.signal.aborted) {
        const found = await api.timeline(after).catch(() => null);
        if (found !== null && !stop.signal.aborted) {
          // The first of the new ones is the last of the old ones, grown.
          const grown = known.length > 0 && known.at(-1)?.start === found.spans[0]?.start;
          known = [...(grown ? known.slice(0, -1) : known), ...found.spans].slice(-kept);
          after = found.next;
          setSpans(known);
        }
        if (!api.isLive) return;
        await clock.sleep(pollMs, stop.signal).catch(() => {});
      }
    };
    void follow();
    return () => stop.abort();
  }, [api]);
  return spans;
}

function WorkLegend(): JSX.Element {
  const { say } = useStudio();
  return (
    <p class="st-legend">
      {[...works, ["idle", "line"] as const].map(([kind, color]) => (
        <span key={kind} class="st-legend-entry">
          <span class="st-swatch" style={{ background: `var(--${color})` }} />
          {say(`work.${kind}`)}
        </span>
      ))}
    </p>
  );
}

const laneHeight = 26;

function Lanes({ spans, lines }: { spans: readonly DeviceSpan[]; lines: readonly MetricsRecord[] }): JSX.Element {
  const { say } = useStudio();
  const [chosen, setChosen] = useLiveState<number>(30);
  const [back, setBack] = useLiveState(0);
  const place = useRef<HTMLCanvasElement>(null);
  const theme = useTheme();
  const last = spans.at(-1);
  const begin = spans[0]?.start ?? 0;
  const now = last === undefined ? 0 : last.start + last.seconds;
  const seconds = chosen === 0 ? Math.max(1, now - begin) : chosen;
  const most = Math.max(0, now - begin - seconds);
  const end = now - Math.min(back, most);
  const updates = column(lines, "time").flatMap((time) => time ?? []);
  useEffect(() => {
    if (place.current !== null) paint(place.current, spans, updates, end - seconds, end);
  }, [spans, chosen, back, theme, lines]);
  if (last === undefined) return <p class="st-empty">{say("timeline.empty")}</p>;
  const height = `${works.length * laneHeight + 18}px`;
  return (
    <figure class="st-chart">
      <figcaption>
        <span class="st-chart-title">{say("timeline.recent")}</span>
        <Windows chosen={chosen} onChoose={setChosen} />
      </figcaption>
      <div class="st-lanes">
        <div class="st-lane-names" aria-hidden="true">
          {works.map(([kind]) => (
            <span key={kind}>{say(`work.${kind}`)}</span>
          ))}
        </div>
        <canvas ref={place} class="st-canvas" style={{ height }} role="img" aria-label={say("timeline.recent")} />
      </div>
      {most === 0 ? null : <Place most={most} back={Math.min(back, most)} onMove={setBack} />}
      <Shares spans={spans} from={end - seconds} to={end} />
    </figure>
  );
}

function Windows({ chosen, onChoose }: { chosen: number; onChoose(seconds: number): void }): JSX.Element {
  const { say } = useStudio();
  return (
    <div class="st-segments" role="radiogroup" aria-label={say("timeline.window")}>
      {windows.map((one) => (
        <label key={one} class={`st-segment${one === chosen ? " st-segment-on" : ""}`}>
          <input type="radio" name="st-window" checked={one === chosen} onChange={() => onChoose(one)} />
          {one === 0 ? say("timeline.all") : say("timeline.seconds", { n: one })}
        </label>
      ))}
    </div>
  );
}

/** Moves the window through what was recorded. */
function Place({ most, back, onMove }: { most: number; back: number; onMove(back: number): void }): JSX.Element {
  const { say, language } = useStudio();
  return (
    <label class="st-field st-place">
      <span>{back === 0 ? say("timeline.now") : say("timeline.back", { time: durationText(back, language) })}</span>
      <input
        type="range"
        min="0"
        max={String(Math.ceil(most))}
        step="1"
        value={String(back === 0 ? Math.ceil(most) : Math.round(most - back))}
        onInput={(event) => onMove(Math.max(0, most - Number((event.target as HTMLInputElement).value)))}
      />
    </label>
  );
}

function paint(
  canvas: HTMLCanvasElement,
  spans: readonly DeviceSpan[],
  updates: readonly number[],
  from: number,
  to: number,
): void {
  const ratio = devicePixelRatio || 1;
  const [width, height] = [canvas.clientWidth, canvas.clientHeight];
  canvas.width = width * ratio;
  canvas.height = height * ratio;
  const pen = canvas.getContext("2d");
  if (pen === null) return;
  pen.scale(ratio, ratio);
  const x = (time: number): number => ((time - from) / (to - from)) * width;
  pen.fillStyle = cssColor("line");
  for (const i of works.keys()) pen.fillRect(0, (i + 1) * laneHeight - 0.5, width, 0.5);
  works.forEach(([kind, color], i) => {
    pen.fillStyle = cssColor(color);
    for (const span of spans) {
      if (span.kind !== kind || span.start + span.seconds < from) continue;
      const left = Math.max(0, x(span.start));
      pen.fillRect(left, i * laneHeight + 4, Math.max(0.75, x(span.start + span.seconds) - left), laneHeight - 8);
    }
  });
  pen.fillStyle = cssColor("text");
  pen.strokeStyle = cssColor("text");
  pen.setLineDash([2, 3]);
  for (const time of updates.filter((one) => one >= from && one <= to)) {
    pen.beginPath();
    pen.moveTo(x(time), 0);
    pen.lineTo(x(time), works.length * laneHeight);
    pen.stroke();
  }
  paintTimes(pen, to - from, width, works.length * laneHeight + 13);
}

/** Seconds before the end, along the bottom. */
function paintTimes(pen: CanvasRenderingContext2D, seconds: number, width: number, y: number): void {
  pen.fillStyle = cssColor("muted");
  pen.font = "11px system-ui";
  for (let i = 0; i <= 5; i++) {
    const text = `−${Math.round(((5 - i) * seconds) / 5)} s`;
    pen.textAlign = i === 0 ? "left" : i === 5 ? "right" : "center";
    pen.fillText(i === 5 ? "0" : text, (width * i) / 5, y);
  }
}

/** How the window divides, as a table. */
function Shares({ spans, from, to }: { spans: readonly DeviceSpan[]; from: number; to: number }): JSX.Element {
  const { say, language } = useStudio();
  const begin = Math.max(from, spans[0]?.start ?? from);
  const total = Math.max(1e-9, to - begin);
  const spent = (kind: DeviceWork): number =>
    spans.reduce((sum, span) => {
      if (span.kind !== kind) return sum;
      return sum + Math.max(0, Math.min(to, span.start + span.seconds) - Math.max(begin, span.start));
    }, 0);
  const rows = works.map(([kind]) => [say(`work.${kind}`), spent(kind)] as const);
  const idle = Math.max(0, total - rows.reduce((sum, [, seconds]) => sum + seconds, 0));
  return (
    <table class="st-table st-shares">
      <caption class="st-visually-hidden">{say("timeline.shares")}</caption>
      <thead>
        <tr>
          {[...rows, [say("work.idle"), idle] as const].map(([name]) => (
            <th key={name} scope="col">
              {name}
            </th>
          ))}
        </tr>
      </thead>
      <tbody>
        <tr>
          {[...rows, [say("work.idle"), idle] as const].map(([name, seconds]) => (
            <td key={name}>
              {durationText(seconds, language)}{" "}
              <span class="st-muted">{numberText((100 * seconds) / total, language, 0)} %</span>
            </td>
          ))}
        </tr>
      </tbody>
    </table>
  );
}
