import { describe, expect, it } from "vitest";
import { fillPlaceholders, mentions, type PlaceholderValues } from "../../src/rollout/placeholders.ts";

const values: PlaceholderValues = {
  input: { question: "What is {key}?", list: [{ n: 2 }] },
  input_file: "/run/input.json",
  workspace: "/run/workspace",
  rollout_id: "r1",
  attempt_id: "0",
  base_url: "http://gw/r/r1/0/train/v1",
  event_url: "http://gw/api/rollouts/r1/attempt/0/events",
  key: "secret",
};

describe("placeholders", () => {
  it("fills each kind", () => {
    expect(fillPlaceholders("{rollout_id}/{attempt_id} {base_url} {event_url} {key}", values)).toBe(
      "r1/0 http://gw/r/r1/0/train/v1 http://gw/api/rollouts/r1/attempt/0/events secret",
    );
    expect(fillPlaceholders("{input_file} in {workspace}", values)).toBe("/run/input.json in /run/workspace");
    expect(fillPlaceholders("{input.list.0.n}", values)).toBe("2");
    expect(fillPlaceholders("{input}", values)).toBe(JSON.stringify(values.input));
  });

  it("does not fill what a task's text brings along", () => {
    expect(fillPlaceholders("{input.question}", values)).toBe("What is {key}?");
  });

  it("leaves other braces alone", () => {
    const text = '{"a":{"baseURL":"{base_url}","x":{}}} $HOME {nothing} {inputs}';
    expect(fillPlaceholders(text, values)).toBe(text.replace("{base_url}", values.base_url));
  });

  it("refuses a field that the input lacks", () => {
    expect(() => fillPlaceholders("{input.missing}", values)).toThrow(
      "Placeholder {input.missing}: the task's input has no such field.",
    );
  });

  it("knows whether a text names one", () => {
    expect(mentions("a {input_file} b", "input_file")).toBe(true);
    expect(mentions("a input_file b", "input_file")).toBe(false);
  });
});
