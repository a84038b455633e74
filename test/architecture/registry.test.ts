import { describe, expect, it } from "vitest";
import { ops } from "../../src/ops/registry.ts";

describe("the list of ops", () => {
  it("names each op once", () => {
    const names = ops.map(({ name }) => name);
    expect(names).toContain("rmsnorm");
    expect(names).toEqual([...new Set(names)]);
  });

  it.each(ops.map((op) => [op.name, op] as const))("says of %s which inputs have gradients, each once", (_name, op) => {
    const inputs = [...op.parameters, ...op.activations];
    expect(inputs.length).toBeGreaterThan(0);
    expect(inputs).toEqual([...new Set(inputs)]);
  });
});
