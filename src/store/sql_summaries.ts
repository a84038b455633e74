import {
  asciiLower,
  type RolloutSummary,
  type SummaryPage,
  type SummaryQuery,
  type SummarySort,
} from "../schema/rollout_summary.ts";
import type { SqlValue } from "../schema/sql_driver.ts";
import type { CallFailure, CallRecord } from "../schema/store.ts";
import type { Rollout, RolloutEvent } from "../schema/wire.ts";
import type { SqlDialect } from "./sql_dialect.ts";
import type { SqlSession } from "./sql_session.ts";
import { type FoldedSummary, foldCall, foldCreated, foldEvent, foldFailure, foldStatus } from "./summary_fold.ts";

/** Something an attempt left behind, in order of writing. */
export type Trace =
  | { readonly event: RolloutEvent }
  | { readonly call: CallRecord }
  | { readonly failure: CallFailure };

/** Column of each order. */
const columns: Readonly<Record<SummarySort, string>> = {
  created: "seq",
  updated: "updated",
  reward: "reward",
  calls: "calls",
  tokens: "tokens",
  breaks: "breaks",
  task: "task",
  state: "state",
  group: "task_group",
};

/** Stands around every agent's name, and in none that a request can name without being told apart wrongly. */
const mark = "\u001f";

const writeSummary = `INSERT INTO summaries (rollout_id, seq, state, mode, task, task_group, agents, reward, calls, tokens,
  breaks, updated, words, folded) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
  ON CONFLICT (rollout_id) DO UPDATE SET state = excluded.state, agents = excluded.agents, reward = excluded.reward,
  calls = excluded.calls, tokens = excluded.tokens, breaks = excluded.breaks, updated = excluded.updated,
  words = excluded.words, folded = excluded.folded`;

/** The table `summaries`. */
export class SqlSummaries {
  private readonly session: SqlSession;
  private readonly dialect: SqlDialect;

  constructor(session: SqlSession, dialect: SqlDialect) {
    this.session = session;
    this.dialect = dialect;
  }

  create(rollout: Rollout, seq: number): void {
    this.write(foldCreated(rollout), seq);
  }

  patch({ rollout_id: id, status }: Rollout): void {
    this.change(id, (folded) => foldStatus(folded, status));
  }

  /** `named`: the attempt that the rollout's status says counts, or null. */
  trace(id: string, trace: Trace, named: string | null): void {
    this.change(id, (folded) => foldTrace(folded, trace, named));
  }

  /** Folds a rollout again from what it left behind. */
  rebuild(rollout: Rollout, seq: number, traces: readonly Trace[]): void {
    const { last_attempt_id: named } = rollout.status;
    let folded = foldStatus(foldCreated(rollout), rollout.status);
    for (const trace of traces) folded = foldTrace(folded, trace, named);
    this.write(folded, seq);
  }

  remove(id: string): void {
    this.session.run("DELETE FROM summaries WHERE rollout_id = ?", id);
  }

  private change(id: string, fold: (folded: FoldedSummary) => FoldedSummary): void {
    const row = this.session.get("SELECT seq, folded FROM summaries WHERE rollout_id = ?", id);
    if (row) this.write(fold(JSON.parse(row.folded as string) as FoldedSummary), row.seq as number);
  }

  private write(folded: FoldedSummary, seq: number): void {
    const { line } = folded;
    this.session.run(
      writeSummary,
      line.id,
      seq,
      line.state,
      line.mode,
      line.task,
      line.group,
      line.agents.map((agent) => `${mark}${agent}${mark}`).join(""),
      line.reward,
      line.calls,
      line.sampledTokens,
      line.breaks,
      line.updatedAt,
      asciiLower([line.id, line.task, line.error ?? ""].join(mark)),
      JSON.stringify(folded),
    );
  }

  page(query: SummaryQuery): SummaryPage {
    const { where, params } = this.filter(query);
    const { sort = "created", descending = false, offset = 0, limit } = query;
    const column = columns[sort];
    const order = `${column} IS NULL, ${column} ${descending ? "DESC" : "ASC"}, seq`;
    const sql = `SELECT folded FROM summaries ${where} ORDER BY ${order} LIMIT ? OFFSET ?`;
    const rows = this.session.all(sql, ...params, Math.max(0, limit), offset);
    const total = this.session.get(`SELECT COUNT(*) AS total FROM summaries ${where}`, ...params)?.total as number;
    const lines = rows.map((row): RolloutSummary => (JSON.parse(row.folded as string) as FoldedSummary).line);
    return { rows: lines, total, agents: this.agents() };
  }

  private agents(): string[] {
    const rows = this.session.all("SELECT DISTINCT agents FROM summaries");
    const names = rows.flatMap(({ agents }) => (agents as string).split(mark)).filter((name) => name !== "");
    return [...new Set(names)].sort((a, b) => (a < b ? -1 : 1));
  }

  private filter(q: SummaryQuery): { where: string; params: SqlValue[] } {
    const parts: string[] = [];
    const params: SqlValue[] = [];
    const add = (part: string, ...values: SqlValue[]): void => {
      parts.push(part);
      params.push(...values);
    };
    const among = (column: string, values: readonly string[]): void =>
      add(values.length === 0 ? "1 = 0" : `${column} IN (${values.map(() => "?").join(", ")})`, ...values);
    if (q.states !== undefined) among("state", q.states);
    if (q.groups !== undefined) among("task_group", q.groups);
    if (q.ids !== undefined) among("rollout_id", q.ids);
    if (q.mode !== undefined) add("mode = ?", q.mode);
    if (q.task !== undefined) add("task = ?", q.task);
    if (q.agent !== undefined) add(this.dialect.contains("agents"), `${mark}${q.agent}${mark}`);
    if (q.rewardMin !== undefined) add("reward >= ?", q.rewardMin);
    if (q.rewardMax !== undefined) add("reward <= ?", q.rewardMax);
    if (q.breaks !== undefined) add(q.breaks ? "breaks > 0" : "breaks = 0");
    if (q.text !== undefined && q.text !== "") add(this.dialect.contains("words"), asciiLower(q.text));
    return { where: parts.length === 0 ? "" : `WHERE ${parts.join(" AND ")}`, params };
  }
}

function foldTrace(folded: FoldedSummary, trace: Trace, named: string | null): FoldedSummary {
  if ("event" in trace) return foldEvent(folded, trace.event, named);
  return "call" in trace ? foldCall(folded, trace.call, named) : foldFailure(folded, trace.failure, named);
}
