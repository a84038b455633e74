// The form of a run: it shows what the kept run has, and what stands in it when it is sent is what the run has then.
import { describe, expect, it } from "vitest";
import { formValues, numberFields, type StartIntent, startRequest } from "../../src/app/page/run_form.ts";
import type { Say } from "../../src/app/page/texts.ts";
import { tabConfig } from "../../src/app/tab/tab_config.ts";
import { parseConfig } from "../../src/experiment/config.ts";
import type { ExperimentConfig } from "../../src/schema/experiment.ts";
import type { StartRequest } from "../../src/schema/run_control.ts";
import { calcConfig as config } from "./tab/run_configs.ts";

const say = ((key: string, values?: object) => `${key} ${JSON.stringify(values ?? {})}`) as Say;
const source = "() => 1";

/** A run of calc that was begun with values, and perhaps an own reward. */
function begun(overrides: Record<string, unknown>, reward = ""): ExperimentConfig {
  return tabConfig({ config }, null, overrides, reward);
}

/** The form as it is shown, with what a person types over that, by the fields' names. */
function filled(kept: ExperimentConfig | null, typed: Record<string, string> = {}): FormData {
  const shown = formValues(kept === null ? { config } : { config, kept });
  const form = new FormData();
  form.set("experiment", "calc");
  for (const { path } of numberFields) {
    const [section, key] = path.split(".") as ["train", "updates"];
    form.set(path, String(shown.config[section][key]));
  }
  form.set("overrides", Object.keys(shown.overrides).length === 0 ? "" : JSON.stringify(shown.overrides));
  form.set("rewardKind", shown.reward === "" ? "configured" : "own");
  form.set("reward", shown.reward);
  for (const [name, value] of Object.entries(typed)) form.set(name, value);
  return form;
}

/** What is asked by the form that a kept run shows, and the configuration that comes of it. */
function sent(
  kept: ExperimentConfig | null,
  intent: StartIntent,
  typed?: Record<string, string>,
): { asked: StartRequest; config: ExperimentConfig } {
  const asked = startRequest(filled(kept, typed), kept === null ? { config } : { config, kept }, intent, say);
  if (typeof asked === "string" || asked.action !== "start") throw new Error(JSON.stringify(asked));
  const { overrides = {}, reward = "", resume = false } = asked;
  return { asked, config: tabConfig({ config }, resume ? kept : null, overrides, reward) };
}

describe("the form of a run", () => {
  it("shows the experiment where no run is kept, and what the kept run has else", () => {
    expect(formValues({ config })).toEqual({ config, overrides: {}, reward: "" });
    const kept = begun({ "train.updates": 2, "train.loss": "gspo", seed: 9 }, source);
    const shown = formValues({ config, kept });
    expect(shown.config.train.updates).toBe(2);
    expect(shown.overrides).toEqual({ seed: 9, "train.loss": "gspo" });
    expect(shown.reward).toBe(source);
    // A grader of the experiment's own that was changed is no text that was written here.
    const graded = begun({ "rollout.graderOptions": { field: "x" } });
    expect(formValues({ config, kept: graded })).toMatchObject({
      overrides: { "rollout.graderOptions": { field: "x" } },
      reward: "",
    });
  });

  it("starts what stands in it, and leaves out what the experiment has", () => {
    expect(sent(null, "start").asked).toEqual({ action: "start", experiment: "calc", overrides: {} });
    const typed = { "train.updates": "3", overrides: '{"train.loss":"gspo"}', rewardKind: "own", reward: source };
    expect(sent(null, "paused", typed).asked).toEqual({
      ...{ action: "start", experiment: "calc", paused: true, reward: source },
      overrides: { "train.updates": 3, "train.loss": "gspo" },
    });
    const kept = begun({ "train.groupSize": 3, "train.loss": "gspo" }, source);
    expect(sent(kept, "start").config).toEqual(kept);
  });

  it("goes on with the kept run as it is where nothing is typed", () => {
    const kept = begun({ "train.updates": 2, "train.groupSize": 3, "train.loss": "gspo" }, source);
    const { asked, config: now } = sent(kept, "resume");
    expect(asked).toEqual({ action: "start", experiment: "calc", overrides: {}, resume: true });
    expect(now).toEqual(kept);
  });

  it("sets the experiment's own value back in a kept run", () => {
    const kept = begun({ "train.groupSize": 3, "train.loss": "gspo", "rollout.stdin": "task" }, source);
    const { groupSize, updates } = config.train;
    const number = sent(kept, "resume", { "train.groupSize": String(groupSize) });
    expect(number.asked.overrides).toEqual({ "train.groupSize": groupSize });
    expect(number.config).toEqual({ ...kept, train: { ...kept.train, groupSize } });
    const all = sent(kept, "resume", {
      ...{ "train.groupSize": String(groupSize), overrides: "", rewardKind: "configured" },
    });
    expect(all.config).toEqual(config);
    const other = sent(kept, "resume", { "train.updates": String(updates + 1), overrides: '{"train.loss":"cispo"}' });
    expect(other.config.train).toEqual({ ...kept.train, updates: updates + 1, loss: "cispo" });
    expect(other.config.rollout.stdin).toBe(config.rollout.stdin);
    expect(other.config.rollout.graderOptions).toEqual({ source });
  });

  it("rewards a kept run by another text, and takes an empty one for the experiment's own", () => {
    const kept = begun({}, source);
    expect(sent(kept, "resume", { reward: "() => 2" }).config.rollout.graderOptions).toEqual({ source: "() => 2" });
    expect(sent(kept, "resume", { reward: " \n" }).config).toEqual(config);
  });

  it("says what in it is no number, no JSON and no reply", () => {
    const refused = (typed: Record<string, string>) => startRequest(filled(null, typed), { config }, "start", say);
    expect(refused({ "train.groupSize": "" })).toBe('run.badNumber {"field":"run.group {}","value":""}');
    expect(refused({ overrides: "[1]" })).toBe('run.badOverrides {"reason":"[1]"}');
    expect(refused({ overrides: "{" })).toMatch(/^run\.badOverrides /);
    expect(refused({ script: "\n{" })).toBe('run.badScript {"line":2}');
  });
});

describe("null among a start's values", () => {
  it("is the experiment's own value, also where that is none or a default", () => {
    const kept = parseConfig({ ...config, seed: 9, rollout: { ...config.rollout, stdin: "task" } });
    expect(tabConfig({ config }, kept, { seed: null, "rollout.stdin": null }, "")).toEqual(config);
    const { eval: _, ...bare } = config;
    expect(tabConfig({ config: bare }, null, { "eval.temperature": null }, "")).toEqual(parseConfig(bare));
    expect(() => tabConfig({ config }, kept, { "train.update": null }, "")).toThrow(
      /unknown key train\.update .*updates/,
    );
  });
});
