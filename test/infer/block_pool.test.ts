import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { BlockPool } from "../../src/infer/block_pool.ts";
import { pageTokens } from "../../src/ops/kv_pages.ts";

const page = (fill: number): Int32Array => new Int32Array(pageTokens).fill(fill);

describe("BlockPool", () => {
  it("finds a prefix only by all the tokens before it", () => {
    const pool = new BlockPool(4);
    const a = pool.take() as number;
    const b = pool.take() as number;
    const nodeA = pool.publish(a, pool.root(0, ""), page(1));
    pool.publish(b, nodeA, page(2));
    expect(pool.share(pool.root(0, ""), page(2))).toBeNull();
    expect(pool.share(pool.root(0, ""), page(1))?.page).toBe(a);
    expect(pool.share(nodeA, page(2))?.page).toBe(b);
  });

  it("keeps unused cached pages until room is needed, then evicts the least recently used", () => {
    const pool = new BlockPool(2);
    const a = pool.take() as number;
    const b = pool.take() as number;
    pool.publish(a, pool.root(0, ""), page(1));
    pool.publish(b, pool.root(0, ""), page(2));
    pool.release(a);
    pool.release(b);
    expect(pool.available).toBe(2);
    pool.release(pool.share(pool.root(0, ""), page(1))?.page as number);
    expect(pool.take()).toBe(b);
    expect(pool.share(pool.root(0, ""), page(2))).toBeNull();
    expect(pool.share(pool.root(0, ""), page(1))?.page).toBe(a);
  });

  it("refuses a release without a user", () => {
    const pool = new BlockPool(1);
    expect(() => pool.release(0)).toThrow("Page 0 was released more often than it was taken.");
  });

  it("never hands out a page that is in use and never loses one", () => {
    fc.assert(
      fc.property(fc.array(fc.integer({ min: 0, max: 99 }), { maxLength: 200 }), (moves) => {
        const pool = new BlockPool(6);
        const held: number[] = [];
        for (const move of moves) {
          const kind = move % 5;
          if (kind === 0) {
            const taken = pool.take();
            if (taken === null) expect(new Set(held).size).toBe(6);
            else {
              expect(held).not.toContain(taken);
              held.push(taken);
            }
          } else if (kind === 1 && held.length > 0) {
            pool.release(held.splice(move % held.length, 1)[0] as number);
          } else if (kind === 2 && held.length > 0) {
            pool.publish(held[move % held.length] as number, pool.root(0, ""), page(move % 7));
          } else if (kind === 3) {
            const found = pool.share(pool.root(0, ""), page(move % 7));
            if (found !== null) held.push(found.page);
          } else if (kind === 4 && move > 90) {
            pool.clearCache();
          }
          expect(pool.available).toBe(6 - new Set(held).size);
        }
        for (const p of held) pool.release(p);
        expect(pool.available).toBe(6);
      }),
    );
  });

  it("keeps the pages of different weights and adapters apart", () => {
    const pool = new BlockPool(3);
    const a = pool.take() as number;
    pool.publish(a, pool.root(1, ""), page(1));
    expect(pool.share(pool.root(2, ""), page(1))).toBeNull();
    expect(pool.share(pool.root(1, "writer"), page(1))).toBeNull();
    expect(pool.share(pool.root(1, ""), page(1))?.page).toBe(a);
    pool.clearCache();
    expect(pool.share(pool.root(1, ""), page(1))).toBeNull();
  });
});
