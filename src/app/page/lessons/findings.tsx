import type { JSX } from "hono/jsx/dom/jsx-runtime";
import { shown } from "../../../../examples/lessons/reading.ts";
import type { ExhibitTable, Lesson } from "../../../schema/lesson.ts";
import { Curve, pointsOf } from "./curve.tsx";
import type { LessonState } from "./lesson_session.ts";
import { Prose } from "./prose.tsx";
import type { SayLesson } from "./say.ts";
import { TextTable } from "./text_table.tsx";

interface ExhibitProps {
  readonly name: string;
  readonly table: ExhibitTable | null;
  readonly say: SayLesson;
  /** The run that the studio shows; null for none. */
  readonly latest: string | null;
  studioHref(route: string): string;
}

function ExhibitView({ name, table, say, latest, studioHref }: ExhibitProps): JSX.Element {
  if (table === null) return <p class="ls-muted">{`${say(name)}: ${say("nothingToShow")}`}</p>;
  const { columns, rows, studio } = table;
  return (
    <>
      <TextTable caption={say(name)} head={columns.map((column) => say(column))} rows={rows} />
      {studio !== undefined && studio.run === latest && (
        <p>
          <a href={studioHref(studio.route)}>{`${say("openInStudio")}: ${say(name)}`}</a>
        </p>
      )}
    </>
  );
}

interface FindingsProps {
  readonly lesson: Lesson;
  readonly state: LessonState;
  readonly say: SayLesson;
  studioHref(route: string): string;
}

/** What the finished runs show: numbers side by side, curves, and tables to look at closely. */
export function Findings({ lesson, state, say, studioHref }: FindingsProps): JSX.Element {
  const { runs, active, latest } = state;
  const keys = Object.keys(runs).filter((key) => runs[key] !== undefined);
  const named = (key: string): string => say.run(lesson, key);
  const rows = lesson.observations.map(({ key, digits, read }) => [
    say(key),
    ...keys.map((name) => {
      const run = runs[name];
      return shown(run === undefined ? null : read(run), digits);
    }),
  ]);
  const lines = [
    ...keys.map((key) => ({ key, metrics: runs[key]?.metrics ?? [] })),
    ...(active === null ? [] : [{ key: active.key, metrics: active.lines }]),
  ];
  return (
    <section class="ls-panel" aria-labelledby="ls-look">
      <h2 id="ls-look">{say("lookTitle")}</h2>
      <Prose text={say("look")} />
      {lesson.curves.map(({ key, metric }) => (
        <Curve
          key={key}
          title={say(key)}
          updateName={say("update")}
          tableName={say("asTable")}
          lines={lines.map((line) => ({ name: named(line.key), points: pointsOf(line.metrics, metric) }))}
        />
      ))}
      {keys.length === 0 ? (
        <p class="ls-muted">{say("runFirst")}</p>
      ) : (
        <>
          <TextTable caption={say("numbers")} head={["", ...keys.map(named)]} rows={rows} named />
          {lesson.exhibits.map(({ key, show }) => (
            <ExhibitView key={key} name={key} table={show(runs)} {...{ say, latest, studioHref }} />
          ))}
        </>
      )}
    </section>
  );
}
