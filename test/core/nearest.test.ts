import { describe, expect, it } from "vitest";
import { didYouMean, nearest } from "../../src/core/nearest.ts";

describe("nearest name", () => {
  it("forgives one edit of each kind", () => {
    const known = ["temperature", "top-k", "seed"];
    expect(nearest("temprature", known)).toBe("temperature");
    expect(nearest("tempeerature", known)).toBe("temperature");
    expect(nearest("sead", known)).toBe("seed");
    expect(nearest("sede", known)).toBe("seed");
    expect(nearest("SEED", known)).toBe("seed");
  });

  it("takes the nearer of two, the first of equals", () => {
    expect(nearest("trains", ["drain", "train"])).toBe("train");
    expect(nearest("bat", ["cat", "rat"])).toBe("cat");
  });

  it("does not guess when nothing is near", () => {
    expect(nearest("zzz", ["train", "eval"])).toBeUndefined();
    expect(nearest("", ["train"])).toBeUndefined();
    expect(nearest("train", [])).toBeUndefined();
  });

  it("lists what is known when it cannot guess", () => {
    expect(didYouMean("trian", ["train", "eval"])).toBe('Did you mean "train"?');
    expect(didYouMean("zzz", ["train", "eval"])).toBe("Known are: train, eval.");
  });
});
