// A browser is asked once to keep what the page stores, and says what it does, as far as it can.
import { describe, expect, it } from "vitest";
import { keepStored, LastingStorage, storageFacts } from "../../src/app/page/lasting_storage.ts";
import { sizeText } from "../../src/app/size_text.ts";
import type { TabEvent } from "../../src/app/tab/tab_host.ts";
import { idleRun } from "../../src/schema/run_control.ts";

/** A storage that is kept once it was asked, unless it refuses. */
function storage(refuses = false) {
  const made = {
    asked: 0,
    isKept: false,
    persist: async () => {
      made.asked++;
      made.isKept = !refuses;
      return made.isKept;
    },
    persisted: async () => made.isKept,
    estimate: async () => ({ usage: 3_100_000, quota: 2e9 }),
  };
  return made;
}

const settled = (): Promise<void> => new Promise((resolve) => setTimeout(resolve));

/** A tab in which no run is at work. */
function quietTab() {
  let told: (event: TabEvent) => void = () => {};
  const tab = {
    status: idleRun,
    onEvent: (tells: typeof told) => {
      told = tells;
      return () => {};
    },
  };
  return { tab, tell: (event: TabEvent) => told(event) };
}

describe("storage that lasts", () => {
  it("is asked for once, also when that is refused", async () => {
    for (const refuses of [false, true]) {
      const browser = storage(refuses);
      const lasting = new LastingStorage(browser);
      await Promise.all([lasting.ask(), lasting.ask()]);
      await lasting.ask();
      expect(browser.asked).toBe(1);
      const facts = { isLasting: !refuses, usedBytes: 3_100_000, quotaBytes: 2e9 };
      expect(await storageFacts(browser)).toEqual(facts);
    }
  });

  it("is asked for from the first run on, and when something was brought in; once for both", async () => {
    for (const [kind, phase] of [
      ["status", "running"],
      ["imported", "idle"],
    ] as const) {
      const browser = storage();
      const { tab, tell } = quietTab();
      keepStored(tab, browser);
      tell({ kind: "status", status: tab.status });
      tell({ kind: "said", line: "" });
      expect(browser.asked).toBe(0);
      tab.status = { ...idleRun, phase };
      for (let times = 0; times < 2; times++) {
        tell(kind === "imported" ? { kind } : { kind, status: tab.status });
        await settled();
      }
      expect(browser.asked, kind).toBe(1);
    }
  });

  it("is not asked for where it was given before", async () => {
    const browser = storage();
    browser.isKept = true;
    await new LastingStorage(browser).ask();
    expect(browser.asked).toBe(0);
  });

  it("is nothing in a browser that knows none, or refuses even the question", async () => {
    const nothing = { isLasting: null, usedBytes: null, quotaBytes: null };
    const refuse = () => Promise.reject(new TypeError("no storage here"));
    for (const browser of [undefined, {}, { persist: refuse, persisted: refuse, estimate: refuse }]) {
      await new LastingStorage(browser).ask();
      expect(await storageFacts(browser)).toEqual(nothing);
    }
  });
});

describe("a size", () => {
  it("has a unit that leaves few digits", () => {
    const sizes = [0, 1, 1000, 369_900, 999_400, 999_600, 3_149_000, 99_960_000, 123e6, 999.6e6, 1.25e9, 3e12, 3e15];
    expect(sizes.map(sizeText)).toEqual([
      "0 kB",
      "1 kB",
      "1 kB",
      "370 kB",
      "999 kB",
      "1.0 MB",
      "3.1 MB",
      "100 MB",
      "123 MB",
      "1.0 GB",
      "1.3 GB",
      "3.0 TB",
      "3000 TB",
    ]);
  });
});
