/** What the page keeps while it lives: what was typed, and work that goes on when its section was left. */
import { describe, expect, it } from "vitest";
import { FormDraft } from "../../src/app/page/form_draft.ts";
import { passingReason } from "../../src/app/page/kept_panel.tsx";
import { KeptValue } from "../../src/app/page/kept_value.ts";
import { ModelMemory } from "../../src/app/page/model_memory.ts";
import { placeOf } from "../../src/app/page/routes.ts";
import { formValues, numberFields, shownTexts } from "../../src/app/page/run_form.ts";
import { RunMemory } from "../../src/app/page/run_memory.ts";
import { tabConfig } from "../../src/app/tab/tab_config.ts";
import { calcConfig as config } from "./tab/run_configs.ts";

describe("what was typed into a form", () => {
  it("is there as long as the field shows by itself what it showed then", () => {
    const draft = new FormDraft();
    draft.type("train.updates", "7", "300");
    draft.type("overrides", "", '{"seed": 1}');
    expect(draft.typed("train.updates", "300")).toBe("7");
    expect(draft.typed("train.updates", "7")).toBeNull();
    expect(draft.typed("overrides", '{"seed": 1}')).toBe("");
    expect(draft.typed("script", "")).toBeNull();
    draft.clear();
    expect(draft.typed("train.updates", "300")).toBeNull();
  });

  it("is kept for each experiment by itself", () => {
    const memory = new RunMemory();
    memory.draftOf("calc").type("reward", "() => 1", "");
    expect(memory.draftOf("calc").typed("reward", "")).toBe("() => 1");
    expect(memory.draftOf("clerk").typed("reward", "")).toBeNull();
  });

  it("stands over every field of the form, which shows the experiment or its kept run", () => {
    const fresh = shownTexts(formValues({ config }));
    const names = [...numberFields.map(({ path }) => path), "rewardKind", "reward", "overrides", "script"];
    expect(Object.keys(fresh).sort()).toEqual(names.sort());
    expect(fresh).toMatchObject({ rewardKind: "configured", reward: "", overrides: "", script: "" });
    const kept = tabConfig({ config }, null, { "train.updates": 2, seed: 9 }, "() => 1");
    expect(shownTexts(formValues({ config, kept }))).toMatchObject({
      "train.updates": "2",
      rewardKind: "own",
      reward: "() => 1",
      overrides: '{\n "seed": 9\n}',
    });
  });
});

describe("the section of models", () => {
  it("goes on with its work when nobody looks, and says what came of it to who comes back", async () => {
    const memory = new ModelMemory();
    const notes: string[] = [];
    const leave = memory.work.subscribe(() => notes.push(memory.work.value.note));
    const gate = Promise.withResolvers<string>();
    const done = memory.run("Reading…", () => gate.promise);
    expect(memory.work.value).toEqual({ note: "Reading…", busy: true, fault: null });
    memory.note("Reading 3 of 9…");
    leave();
    gate.resolve("It is here.");
    await done;
    expect(notes).toEqual(["Reading…", "Reading 3 of 9…"]);
    expect(memory.work.value).toEqual({ note: "It is here.", busy: false, fault: null });
    await memory.run("Again…", () => Promise.reject(new Error("the disk is gone")));
    expect(memory.work.value).toMatchObject({ note: "", busy: false, fault: { message: "the disk is gone" } });
  });

  it("tells everybody who listens, once for each change", () => {
    const kept = new KeptValue(1);
    let told = 0;
    const leave = kept.subscribe(() => {
      told++;
    });
    kept.set(2);
    leave();
    kept.set(3);
    expect([kept.value, told]).toEqual([3, 1]);
  });
});

describe("a page that keeps nothing", () => {
  it("says why: opened from a disk, or not allowed to", () => {
    expect([passingReason("file:"), passingReason("http:"), passingReason("https:")]).toEqual([
      "kept.memory",
      "kept.blocked",
      "kept.blocked",
    ]);
  });
});

describe("a place in the page", () => {
  it.each([
    ["#lesson/%", "lessons", "%"],
    ["#lesson/%E0%A4%A", "lessons", "%E0%A4%A"],
    ["#lesson/01%2Dpolicy", "lessons", "01-policy"],
    ["#lesson", "lessons", ""],
    ["#/rollouts/%", "studio", ""],
    ["#%", "run", ""],
    ["", "run", ""],
  ])("is read from %s", (hash, section, id) => {
    expect(placeOf(hash)).toEqual({ section, id });
  });
});
