import type { Numbers } from "../masked.ts";
import { linkCalls } from "../trie/lineage.ts";
import { type TrainedSample, treeRows } from "../trie/tree_rows.ts";
import { buildTrie, type Sample, type Trie, type TrieCall } from "../trie/trie.ts";
import type { CallRecord, RowOrigin } from "./batch_input.ts";
import type { SelectedRollout } from "./select.ts";
import type { BuiltRows, Layout, UnitTerms } from "./units.ts";

/** The trie of one group; `unit` gives each call's lineage as an index over the whole step. */
interface GroupTrie {
  group: string;
  calls: TrieCall[];
  trie: Trie;
  unit: number[];
}

/** Rollouts in order, cut where the group changes. */
function byGroup(rollouts: readonly SelectedRollout[]): SelectedRollout[][] {
  const groups: SelectedRollout[][] = [];
  for (const rollout of rollouts) {
    const last = groups.at(-1);
    if (last?.[0]?.group === rollout.group) last.push(rollout);
    else groups.push([rollout]);
  }
  return groups;
}

/** Samples of the trained units with what their records carry. */
function trainedSamples(group: GroupTrie, terms: readonly UnitTerms[]): TrainedSample[] {
  return group.trie.samples.flatMap(({ call, logprobs }: Sample, sample) => {
    const unit = terms[group.unit[call] as number] as UnitTerms;
    if (!unit.trained) return [];
    return [{ sample, weight: unit.weight, advantage: unit.advantage, oldLogprobs: logprobs as Numbers }];
  });
}

/** Calls behind a row's records, and each record's index among them. */
function originOf(group: GroupTrie, sample: Int32Array, token: Int32Array): RowOrigin {
  const indices = new Map<number, number>();
  for (const s of sample) if (!indices.has(s)) indices.set(s, indices.size);
  return {
    group: group.group,
    calls: [...indices.keys()].map((s) => {
      const { call } = group.trie.samples[s] as Sample;
      const { rollout, id } = group.calls[call] as TrieCall;
      return { rollout, call: id, unit: group.unit[call] as number };
    }),
    call: sample.map((s) => indices.get(s) as number),
    token,
  };
}

/**
 * Lays each group's rollouts out as one trie. Every sample is an event of its own; identical ones share their compute,
 * not their weight. Units are the lineages of a rollout's calls.
 */
export function trieLayout(rollouts: readonly SelectedRollout[], maxRowTokens: number): Layout {
  const units: Layout["units"] = [];
  const unitCalls: Layout["calls"] = [];
  const groups: GroupTrie[] = byGroup(rollouts).map((members) => {
    const records = members.flatMap((rollout) => rollout.calls);
    const calls: TrieCall[] = members.flatMap((rollout) =>
      rollout.calls.map((call) => ({ ...call, rollout: rollout.id })),
    );
    const group = (members[0] as SelectedRollout).group;
    const trie = buildTrie(calls);
    const lineages = new Map<number, number>();
    const unit = linkCalls(trie, calls).map(({ lineage }, i) => {
      const call = calls[i] as TrieCall;
      const index = lineages.get(lineage) ?? units.length;
      if (!lineages.has(lineage)) {
        units.push({ rollout: call.rollout, group, tokens: 0 });
        unitCalls.push([]);
      }
      lineages.set(lineage, index);
      unitCalls[index]?.push({ call: records[i] as CallRecord, tokens: call.replyIds.length });
      (units[index] as Layout["units"][number]).tokens += call.replyIds.length;
      return index;
    });
    return { group, calls, trie, unit };
  });
  return { units, calls: unitCalls, counts: {}, build: (terms) => buildRows(groups, terms, maxRowTokens) };
}

function buildRows(groups: readonly GroupTrie[], terms: readonly UnitTerms[], maxRowTokens: number): BuiltRows {
  const built: BuiltRows = { rows: [], origins: [], counts: {} };
  let repeated = 0;
  let overBudget = 0;
  for (const group of groups) {
    const layout = treeRows(group.trie, trainedSamples(group, terms), maxRowTokens);
    for (const { row, sample, token } of layout.rows) {
      built.rows.push(row);
      built.origins.push(originOf(group, sample, token));
    }
    repeated += layout.repeatedTokens;
    overBudget += layout.rowsOverBudget;
  }
  built.counts = { "training/n_tokens_repeated": repeated, "training/n_rows_over_budget": overBudget };
  return built;
}
