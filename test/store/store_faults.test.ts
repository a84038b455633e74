/** Faults on demand: which texts name one, and what it does. */
import { expect, it } from "vitest";
import { ConfigError } from "../../src/core/errors.ts";
import { MemoryStore } from "../../src/store/memory_store.ts";
import { parseStoreFaults, withStoreFaults } from "../../src/store/store_faults.ts";
import { created } from "./conformance/store_events.ts";

it("reads its own faults and passes others over", () => {
  expect(parseStoreFaults(undefined)).toEqual([]);
  expect(parseStoreFaults("nan-grad@2, disk-full,kill-after-append:100")).toEqual([
    { kind: "disk-full" },
    { kind: "kill-after-append", appends: 100 },
  ]);
  for (const bad of ["kill-after-append:", "kill-after-append:0", "kill-after-append:x"]) {
    expect(() => parseStoreFaults(bad)).toThrow(ConfigError);
    expect(() => parseStoreFaults(bad)).toThrow(`LEYDEN_FAULT has "${bad}".`);
  }
});

it("fails writes as a full disk does", async () => {
  const store = withStoreFaults(new MemoryStore(), parseStoreFaults("disk-full"), () => {});
  await expect(store.append([created("a")])).rejects.toMatchObject({
    code: "store_write",
    message: "The store could not write: database or disk is full. The disk is full; free some space, then resume.",
  });
  expect(await store.seq()).toBe(0);
});

it("kills after the acknowledged write that it names, once", async () => {
  const acknowledged: number[] = [];
  const store = withStoreFaults(new MemoryStore(), parseStoreFaults("kill-after-append:2"), () =>
    acknowledged.push(-1),
  );
  for (const id of ["a", "b", "c"]) acknowledged.push(await store.append([created(id)]));
  expect(acknowledged).toEqual([1, -1, 2, 3]);
});
