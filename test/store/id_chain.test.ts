/** Chains of ids: what they give back, however they branch and however long they are. */
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { concat, IdChain } from "../../src/store/id_chain.ts";
import { sameJson } from "../../src/store/same_json.ts";

const id = fc.nat({ max: 3 });
const link = fc.record({
  from: fc.nat({ max: 200 }),
  shared: fc.double({ min: 0, max: 1, noNaN: true }),
  own: fc.array(id),
});

describe("a chain of ids", () => {
  it("gives back what it was made of, and tells how much another list shares", () => {
    fc.assert(
      fc.property(fc.array(link, { maxLength: 120 }), fc.array(id), (links, other) => {
        const chains: { chain: IdChain | null; ids: number[] }[] = [{ chain: null, ids: [] }];
        for (const { from, shared, own } of links) {
          const base = chains[Math.max(0, chains.length - 1 - (from % 3))] as (typeof chains)[number];
          const count = Math.floor(shared * base.ids.length);
          const chain = new IdChain(base.chain, count, Int32Array.from(own));
          chains.push({ chain, ids: [...base.ids.slice(0, count), ...own] });
        }
        for (const { chain, ids } of chains.slice(1)) {
          if (!chain) throw new Error("no chain");
          expect(Array.from(chain.first(chain.length))).toEqual(ids);
          expect(Array.from(chain.first(ids.length >> 1))).toEqual(ids.slice(0, ids.length >> 1));
          const differs = ids.findIndex((one, at) => one !== other[at]);
          expect(chain.commonPrefix(Int32Array.from(other))).toBe(differs < 0 ? ids.length : differs);
          expect(chain.commonPrefix(Int32Array.from([...ids, 9]))).toBe(ids.length);
        }
      }),
      { numRuns: 60 },
    );
  });

  it("keeps of a conversation what each call adds, and puts it together before it is long", () => {
    let chain = new IdChain(null, 0, new Int32Array(1000));
    for (let call = 0; call < 60; call++) chain = new IdChain(chain, chain.length, Int32Array.of(1, 2));
    expect([chain.ownLength, chain.length]).toEqual([2, 1120]);
    for (let call = 0; call < 5; call++) chain = new IdChain(chain, chain.length, Int32Array.of(1, 2));
    expect([chain.ownLength, chain.length]).toEqual([1130, 1130]);
  });

  it("is of no length without ids", () => {
    expect(concat(new Int32Array(0), new Int32Array(0))).toHaveLength(0);
    expect(new IdChain(null, 0, new Int32Array(0)).commonPrefix(Int32Array.of(1))).toBe(0);
  });
});

describe("same JSON", () => {
  it("is that of equal values with their keys in the same order", () => {
    const json = fc.jsonValue();
    fc.assert(
      fc.property(json, (value) => sameJson(JSON.parse(JSON.stringify(value)), JSON.parse(JSON.stringify(value)))),
    );
    const parsed = (value: unknown) => JSON.parse(JSON.stringify(value)) as unknown;
    fc.assert(
      fc.property(json, json, (a, b) => !sameJson(parsed(a), b) || JSON.stringify(parsed(a)) === JSON.stringify(b)),
    );
    expect(sameJson({ a: 1, b: 2 }, { b: 2, a: 1 })).toBe(false);
    expect(sameJson({ a: 1 }, { a: 1, b: undefined })).toBe(false);
    expect(sameJson(["x"], { 0: "x" })).toBe(false);
    expect(sameJson({}, new Date(0))).toBe(false);
    expect(sameJson(null, {})).toBe(false);
  });
});
