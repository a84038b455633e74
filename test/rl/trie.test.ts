import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { linkCalls } from "../../src/rl/trie/lineage.ts";
import { type TrainedSample, treeRows } from "../../src/rl/trie/tree_rows.ts";
import { ancestry, buildTrie, type Sample, type TrieCall, type TrieNode } from "../../src/rl/trie/trie.ts";
import { randomCalls } from "./random_calls.ts";
import { recordMultiset, spellRecords } from "./row_reading.ts";

function call(promptIds: number[], replyIds: number[], rollout = "r", id = "c"): TrieCall {
  const logprobs = replyIds.map((token, i) => -(token + 1) / (i + 2));
  return { id, attempt: "0", rollout, promptIds, replyIds, logprobs, versions: null };
}

/** Few distinct tokens, so that calls share, branch, end within and coincide. */
const calls = randomCalls({ vocab: 3, calls: 10, length: 5 });

function trained(samples: readonly Sample[]): TrainedSample[] {
  return samples.map((sample, i) => ({
    sample: i,
    weight: 2 ** -(1 + (i % 5)),
    advantage: (i % 3) - 1.5,
    oldLogprobs: sample.logprobs ?? [],
  }));
}

/** The records that the calls stand for, each token from its whole context. */
function expectedRecords(list: readonly TrieCall[]): string[] {
  const trie = buildTrie(list);
  return trained(trie.samples)
    .flatMap((event, i) => {
      const owner = list[(trie.samples[i] as Sample).call] as TrieCall;
      const sequence = [...Array.from(owner.promptIds), ...Array.from(owner.replyIds)];
      return Array.from(owner.replyIds, (target, k) =>
        JSON.stringify({
          context: sequence.slice(0, owner.promptIds.length + k),
          target,
          weight: event.weight,
          advantage: event.advantage,
          oldLogprob: Math.fround(event.oldLogprobs[k] as number),
        }),
      );
    })
    .sort();
}

const spelled = (nodes: readonly TrieNode[], node: number): number[] =>
  ancestry(nodes, node).flatMap((id) => [...(nodes[id] as TrieNode).ids]);

describe("trie", () => {
  it("spells every call, shares every prefix, and points at every sample", () => {
    fc.assert(
      fc.property(calls, (list) => {
        const { nodes, ends, samples } = buildTrie(list);
        list.forEach((c, i) => {
          expect(spelled(nodes, ends[i] as number)).toEqual([...Array.from(c.promptIds), ...Array.from(c.replyIds)]);
        });
        for (const node of nodes) {
          expect(node.ids.length).toBeGreaterThan(0);
          const firsts = node.children.map((id) => (nodes[id] as TrieNode).ids[0] as number);
          expect(firsts).toEqual([...new Set(firsts)].sort((a, b) => a - b));
        }
        samples.forEach((sample) => {
          const owner = list[sample.call] as TrieCall;
          const node = nodes[sample.node] as TrieNode;
          expect(node.startDepth + sample.offset).toBe(owner.promptIds.length);
          expect(node.ids[sample.offset]).toBe(owner.replyIds[0]);
          expect(ancestry(nodes, ends[sample.call] as number)).toContain(sample.node);
        });
        expect(samples).toHaveLength(list.length);
      }),
    );
  });

  it("has a form that does not depend on the order of the calls", () => {
    fc.assert(
      fc.property(calls, fc.integer({ min: 0, max: 7 }), (list, turn) => {
        const rotated = [...list.slice(turn % list.length), ...list.slice(0, turn % list.length)].reverse();
        expect(buildTrie(rotated).nodes).toEqual(buildTrie(list).nodes);
      }),
    );
  });

  it("takes calls without a reply, without a prompt, without anything", () => {
    const trie = buildTrie([call([1, 2], []), call([], [1]), call([], [])]);
    expect([...trie.ends]).toEqual([1, 0, -1]);
    expect(trie.samples.map((s) => [s.call, s.node, s.offset])).toEqual([[1, 0, 0]]);
    expect(buildTrie([]).nodes).toEqual([]);
  });
});

describe("lineages", () => {
  it("two interleaved chats are two lineages, whatever arrived first", () => {
    const chat = (base: number): TrieCall[] => [
      call([base], [base + 1]),
      call([base, base + 1, 7], [base + 2]),
      call([base, base + 1, 7, base + 2, 8], [base + 3]),
    ];
    const [a, b] = [chat(10), chat(20)];
    const mixed = [a[0], b[0], b[1], a[1], a[2], b[2]] as TrieCall[];
    expect(linkCalls(buildTrie(mixed), mixed).map((link) => link.lineage)).toEqual([0, 1, 1, 0, 0, 1]);
    const late = [...mixed].reverse();
    expect(linkCalls(buildTrie(late), late).map((link) => link.parent)).toEqual([3, 2, 5, 4, -1, -1]);
  });

  it("the longest prefix is the parent; a second child is a branch", () => {
    const list = [call([1], [2]), call([1, 2, 3], [4]), call([1, 2, 3, 4, 5], [6]), call([1, 2, 9], [9])];
    expect(linkCalls(buildTrie(list), list)).toEqual([
      { parent: -1, prefix: 0, lineage: 0 },
      { parent: 0, prefix: 2, lineage: 0 },
      { parent: 1, prefix: 4, lineage: 0 },
      { parent: 0, prefix: 2, lineage: 1 },
    ]);
  });

  it("does not cross rollouts or attempts, and an unanswered call is nobody's parent", () => {
    const list = [
      call([1], [2], "a"),
      call([1, 2, 3], [4], "b"),
      { ...call([1, 2, 3], [4], "a"), attempt: "1" },
      call([1, 2], [], "b"),
    ];
    expect(linkCalls(buildTrie(list), list).map((link) => link.parent)).toEqual([-1, -1, -1, -1]);
  });

  it("equal samples are lineages of their own and share the later calls' parent", () => {
    const list = [call([1], [2]), call([1], [2]), call([1, 2, 3], [4])];
    expect(linkCalls(buildTrie(list), list).map((link) => [link.parent, link.lineage])).toEqual([
      [-1, 0],
      [-1, 1],
      [0, 0],
    ]);
  });
});

describe("tree rows", () => {
  it("hold exactly the records of the calls, for any tree and any budget", () => {
    fc.assert(
      fc.property(calls, fc.integer({ min: 1, max: 40 }), (list, budget) => {
        const trie = buildTrie(list);
        const layout = treeRows(trie, trained(trie.samples), budget);
        expect(recordMultiset(layout.rows.map((row) => row.row))).toEqual(expectedRecords(list));
        const longest = Math.max(...list.map((c) => c.promptIds.length + c.replyIds.length - 1));
        for (const { row } of layout.rows) expect(row.ids.length).toBeLessThanOrEqual(Math.max(budget, longest));
        if (budget >= longest) expect(layout.rowsOverBudget).toBe(0);
        expect(layout.rows.reduce((n, r) => n + r.row.ids.length, 0)).toBe(layout.tokens);
      }),
      { numRuns: 400 },
    );
  });

  it("compute no token twice when the budget allows, and say what splitting repeats", () => {
    fc.assert(
      fc.property(calls, (list) => {
        const trie = buildTrie(list);
        const whole = treeRows(trie, trained(trie.samples), Number.POSITIVE_INFINITY);
        expect(whole.rows).toHaveLength(1);
        expect(whole.repeatedTokens).toBe(0);
        const contexts = new Set(spellRecords(whole.rows.map((r) => r.row)).map((record) => record.context.join()));
        const prefixes = new Set<string>();
        for (const key of contexts) {
          const ids = key.split(",");
          ids.forEach((_, t) => {
            prefixes.add(ids.slice(0, t + 1).join());
          });
        }
        expect(whole.tokens).toBe(prefixes.size);
        const split = treeRows(trie, trained(trie.samples), 6);
        expect(split.tokens).toBe(whole.tokens + split.repeatedTokens);
      }),
    );
  });

  it("a branching node's last token predicts several tokens", () => {
    const trie = buildTrie([call([1, 2], [3]), call([1, 2], [4, 5])]);
    const { rows } = treeRows(trie, trained(trie.samples), 99);
    expect(rows).toHaveLength(1);
    const { row } = rows[0] as (typeof rows)[number];
    expect([...row.ids]).toEqual([1, 2, 4]);
    expect([...row.src]).toEqual([1, 1, 2]);
    expect([...row.target]).toEqual([3, 4, 5]);
  });

  it("two identical samples are two events with twice the weight of one", () => {
    const once = buildTrie([call([1], [2, 3])]);
    const twice = buildTrie([call([1], [2, 3]), call([1], [2, 3])]);
    const event = (sample: number): TrainedSample => ({ sample, weight: 0.5, advantage: 1, oldLogprobs: [-1, -2] });
    const one = treeRows(once, [event(0)], 99);
    const two = treeRows(twice, [event(0), event(1)], 99);
    expect(two.tokens).toBe(one.tokens);
    const records = recordMultiset(one.rows.map((r) => r.row));
    expect(recordMultiset(two.rows.map((r) => r.row))).toEqual([...records, ...records].sort());
  });

  it("trees with several roots stand side by side without seeing each other", () => {
    const trie = buildTrie([call([1], [2, 3]), call([5], [6, 7])]);
    const { rows } = treeRows(trie, trained(trie.samples), 99);
    expect(spellRecords(rows.map((r) => r.row)).map((r) => r.context)).toEqual([[1], [1, 2], [5], [5, 6]]);
  });

  it("nothing trained is nothing computed", () => {
    const trie = buildTrie([call([1], [2])]);
    expect(treeRows(trie, [], 99)).toEqual({ rows: [], tokens: 0, repeatedTokens: 0, rowsOverBudget: 0 });
  });

  it("the first token of an empty prompt has nothing to be predicted from", () => {
    const trie = buildTrie([call([], [1, 2])]);
    const { rows } = treeRows(trie, trained(trie.samples), 99);
    expect(spellRecords(rows.map((r) => r.row)).map((r) => [r.context, r.target])).toEqual([[[1], 2]]);
  });

  it("counts a path that is longer than the budget and still trains it", () => {
    const trie = buildTrie([call([1, 2, 3, 4], [5])]);
    const layout = treeRows(trie, trained(trie.samples), 2);
    expect(layout).toMatchObject({ tokens: 4, rowsOverBudget: 1 });
    expect(layout.rows).toHaveLength(1);
  });
});
