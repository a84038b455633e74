import { useEffect, useRef } from "hono/jsx/dom";
import type { JSX } from "hono/jsx/dom/jsx-runtime";
import { type SummarySort, summarySorts } from "../../../src/schema/rollout_summary.ts";
import type { TableFilters } from "./api.ts";
import { useStudio } from "./context.ts";
import { useLiveState } from "./live_state.ts";
import type { TextKey } from "./texts.ts";

/** No filter, oldest first. */
const open: TableFilters = {
  state: "",
  mode: "",
  agent: "",
  task: "",
  group: "",
  update: "",
  reward_min: "",
  reward_max: "",
  breaks: "",
  text: "",
  sort: "created",
  order: "desc",
};

/** The filters that an address names. */
export function filtersOf(query: URLSearchParams): TableFilters {
  const given = Object.fromEntries([...query].filter(([name]) => Object.hasOwn(open, name)));
  const filters = { ...open, ...given } as TableFilters;
  const sort = summarySorts.includes(filters.sort as SummarySort) ? filters.sort : open.sort;
  return { ...filters, sort, order: filters.order === "asc" ? "asc" : "desc" };
}

/** The filters as an address, without those that change nothing. */
export function queryOfFilters(filters: TableFilters): URLSearchParams {
  const named = Object.entries(filters).filter(([name, value]) => value !== open[name as keyof TableFilters]);
  return new URLSearchParams(named);
}

type Change = (change: Partial<TableFilters>) => void;

interface FieldProps {
  readonly filters: TableFilters;
  readonly name: keyof TableFilters;
  readonly label: TextKey;
  readonly change: Change;
}

function Choice({
  filters,
  name,
  label,
  change,
  options,
}: FieldProps & { options: readonly (readonly [string, string])[] }): JSX.Element {
  const { say } = useStudio();
  return (
    <label class="st-field">
      <span>{say(label)}</span>
      <select value={filters[name]} onChange={(event) => change({ [name]: (event.target as HTMLSelectElement).value })}>
        <option value="">{say("filter.any")}</option>
        {options.map(([value, text]) => (
          <option key={value} value={value} selected={filters[name] === value}>
            {text}
          </option>
        ))}
      </select>
    </label>
  );
}

const settleMs = 250;

/** A text that is told once nobody types any more. */
function TextField({
  filters,
  name,
  label,
  change,
  kind,
  id,
}: FieldProps & { kind: "search" | "number" | "text"; id?: string }): JSX.Element {
  const { say, clock } = useStudio();
  const [text, setText] = useLiveState(filters[name] as string);
  const typing = useRef<AbortController | null>(null);
  useEffect(() => setText(filters[name] as string), [filters[name]]);
  const typed = (value: string): void => {
    setText(value);
    typing.current?.abort();
    const mine = new AbortController();
    typing.current = mine;
    clock.sleep(settleMs, mine.signal).then(
      () => change({ [name]: value }),
      () => {},
    );
  };
  return (
    <label class={`st-field st-field-${kind}`}>
      <span>{say(label)}</span>
      <input
        type={kind}
        {...(id === undefined ? {} : { id })}
        {...(kind === "number" ? { step: "any" } : {})}
        value={text}
        onInput={(event) => typed((event.target as HTMLInputElement).value)}
      />
    </label>
  );
}

/** What the table may be filtered by. */
export function Filters({
  filters,
  agents,
  change,
}: {
  filters: TableFilters;
  agents: readonly string[];
  change: Change;
}): JSX.Element {
  const { say } = useStudio();
  const field = (name: keyof TableFilters, label: TextKey) => ({ filters, name, label, change });
  const states = (["queuing", "running", "succeeded", "failed"] as const).map(
    (state) => [state, say(`state.${state}`)] as const,
  );
  const isOpen = queryOfFilters({ ...filters, sort: open.sort, order: open.order }).size === 0;
  return (
    <search aria-label={say("filter.label")}>
      <form class="st-filters" onSubmit={(event: Event) => event.preventDefault()}>
        <TextField {...field("text", "filter.text")} kind="search" id="st-search" />
        <Choice {...field("state", "column.state")} options={states} />
        <Choice
          {...field("mode", "filter.mode")}
          options={[
            ["train", say("mode.train")],
            ["val", say("mode.val")],
          ]}
        />
        <Choice {...field("agent", "column.model")} options={agents.map((agent) => [agent, agent] as const)} />
        <TextField {...field("task", "column.task")} kind="text" />
        <TextField {...field("group", "column.group")} kind="text" />
        <TextField {...field("update", "column.update")} kind="number" />
        <TextField {...field("reward_min", "filter.rewardMin")} kind="number" />
        <TextField {...field("reward_max", "filter.rewardMax")} kind="number" />
        <Choice
          {...field("breaks", "column.breaks")}
          options={[
            ["true", say("filter.withBreaks")],
            ["false", say("filter.withoutBreaks")],
          ]}
        />
        <button
          type="button"
          class="st-button"
          disabled={isOpen}
          onClick={() => change({ ...open, sort: filters.sort, order: filters.order })}
        >
          {say("filter.clear")}
        </button>
      </form>
    </search>
  );
}
