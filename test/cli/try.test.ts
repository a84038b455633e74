// Plan: what can be tried and what cannot, the list; a command against a running gateway: what is recorded, calls that
// fail, no calls, an agent that fails, that takes too long, that is not there; lines for people and for programs.
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { createApp, type GatewayApp } from "../../gateway/app.ts";
import type { ServedGateway } from "../../gateway/listening.ts";
import { serveNode } from "../../gateway/serve_node.ts";
import { commands } from "../../src/cli/commands.ts";
import { runCommandLine } from "../../src/cli/run.ts";
import { systemClock, systemEntropy } from "../../src/platform/clock.ts";
import { platform } from "../../src/platform/node.ts";
import { harnesses } from "../../src/rollout/harnesses/registry.ts";
import { MemoryStore } from "../../src/store/memory_store.ts";
import { FakeEngine, fakeModel } from "../gateway/fake_model.ts";
import { fakePlatform } from "./fake_platform.ts";
import { runLeyden } from "./run_leyden.ts";

const engine = new FakeEngine();
let app: GatewayApp;
let served: ServedGateway;
let there: string[] = [];
beforeAll(async () => {
  const parts = { store: new MemoryStore(), model: fakeModel(engine), clock: systemClock, entropy: systemEntropy };
  app = createApp({ ...parts, config: { key: "k" } });
  served = await serveNode(app, { host: "127.0.0.1", port: 0 });
  there = ["--url", served.url, "--key", "k"];
});
afterAll(() => served.close(100));

/** A conversation of `turns` turns, by an agent that knows its model's address from its environment only. */
const agent = (turns: number, change = "") => `
  const messages = [{ role: "user", content: "hi" }];
  for (let turn = 0; turn < ${turns}; turn++) {
    const response = await fetch(process.env.OPENAI_BASE_URL + "/chat/completions", {
      method: "POST",
      headers: { authorization: "Bearer " + process.env.OPENAI_API_KEY },
      body: JSON.stringify({ messages }),
    });
    const { choices, error } = await response.json();
    if (error) throw new Error(error.message);
    messages.push(choices[0].message, { role: "user", content: "and then?" });
    ${change}
  }
  console.log("said", messages.length);
`;
const node = (script: string) => ["--", process.execPath, "--input-type=module", "-e", script];

describe("leyden try", () => {
  it("says what was recorded of a command's calls", async () => {
    const { code, out } = await runLeyden(["try", ...there, ...node(agent(3))]);
    expect(out.split("\n").slice(-5)).toEqual([
      "  said 7",
      expect.stringMatching(/^.{59}… ended with 0\.$/),
      "Recorded 3 calls in 1 lineage: 144 prompt tokens, 9 sampled tokens.",
      "Trainable because every sampled token (9) is recorded with its logprob, and 2 continuations begin with the earlier tokens verbatim.",
      "",
    ]);
    expect(code).toBe(0);
  });

  it("says the same to programs, in its last line", async () => {
    const { code, json } = await runLeyden(["try", "--json", ...there, ...node(agent(2))]);
    expect(json().at(-1)).toEqual({
      harness: expect.stringMatching(/-e/),
      exit: 0,
      calls: 2,
      lineages: 1,
      breaks: [],
      prompt_tokens: 67,
      sampled_tokens: 6,
      continuations: 1,
      failures: 0,
      trainable: true,
      because: expect.stringMatching(/^every sampled token/),
    });
    expect(code).toBe(0);
  });

  it("is not content with histories that are changed", async () => {
    const { code, json } = await runLeyden([
      "try",
      "--json",
      ...there,
      ...node(agent(2, 'messages[0].content = "ho";')),
    ]);
    expect(json().at(-1)).toMatchObject({ lineages: 2, breaks: ["edited"], trainable: false });
    expect(code).toBe(1);
  });

  it("tells an agent that made no call where to look, and counts calls that failed", async () => {
    const silent = await runLeyden(["try", ...there, ...node("")]);
    expect(silent.out).toContain("Recorded 0 calls in 0 lineages: 0 prompt tokens, 0 sampled tokens.");
    expect(silent.out).toContain("Not trainable: no call reached the gateway;");
    expect(silent.code).toBe(1);
    engine.script = () => new Error("broken");
    const failed = await runLeyden(["try", ...there, ...node(agent(1))]);
    engine.script = () => "ok";
    expect(failed.out).toContain("1 call failed: internal.");
    expect(failed.out).toContain("failed: it ended with 1. The end of its stderr:\n");
    expect(failed.out).toContain("The gateway failed to answer this call.");
    expect(failed.out).toContain("Not trainable: no call was answered: 1 call failed (internal).\n");
    expect(failed.code).toBe(1);
  });

  it("shows a program that failed before its first call what it said itself, before anything else", async () => {
    const broken = node('console.log("here"); console.error("No module named openai"); process.exit(7)');
    const { code, out } = await runLeyden(["try", ...there, ...broken]);
    expect(out.split("\n")).toEqual([
      expect.stringMatching(/… failed: it ended with 7 before any call reached the gateway\. The end of its stderr:$/),
      "  No module named openai",
      "The end of its stdout:",
      "  here",
      "Recorded 0 calls in 0 lineages: 0 prompt tokens, 0 sampled tokens.",
      expect.stringMatching(/^Not trainable: the program ended with 7 before any call reached the gateway; mend what/),
      "",
    ]);
    expect(code).toBe(1);
    const told = await runLeyden(["try", "--json", ...there, ...broken]);
    expect(told.json().at(-1)).toMatchObject({
      exit: 7,
      calls: 0,
      because: expect.stringMatching(/^the program ended with 7/),
      stderr: "No module named openai",
    });
    const mute = await runLeyden(["try", ...there, ...node("process.exit(2)")]);
    expect(mute.out).toMatch(/failed: it ended with 2 before .* It wrote nothing to stderr\.\nRecorded/);
  });

  it("ends agents that take too long, and says when there is none", async () => {
    const late = await runLeyden(["try", ...there, "--timeout=1", ...node("setInterval(() => {}, 1000)")]);
    expect(late.out).toContain("was ended: its time was up.");
    const none = await runLeyden(["try", ...there, "--", "no-such-agent"]);
    expect(none.out).toContain('could not be started: Could not start "no-such-agent": there is no such program.\n');
    // What was not started made no call: the advice is about the command, not about addresses of models.
    expect(none.out).toContain("Check the command's name, PATH and permissions.\n");
    expect(none.out).not.toContain("Recorded");
    const quoted = await runLeyden(["try", ...there, "--", "no-such-agent --flag"]);
    expect(quoted.out).toContain("Leave out the quotes around the whole command: leyden try -- no-such-agent --flag\n");
    const said = await runLeyden(["try", "--json", ...there, "--", "no-such-agent"]);
    expect(JSON.parse(said.out.trim().split("\n").at(-1) ?? "")).toMatchObject({
      exit: null,
      trainable: false,
      because: "it could not be started",
      do: "Check the command's name, PATH and permissions.",
    });
    expect([late.code, none.code]).toEqual([1, 1]);
  });

  it("stops with the agent when it is told to", async () => {
    const held = Promise.withResolvers<string>();
    engine.script = () => held.promise;
    const before = engine.requests.length;
    const fake = fakePlatform({ args: ["try", ...there, ...node(agent(1))] });
    const ran = runCommandLine({ ...platform, terminal: fake.platform.terminal }, commands);
    await expect.poll(() => engine.requests.length, { timeout: 20_000 }).toBe(before + 1);
    fake.signal("SIGINT");
    expect(await ran).toBe(2);
    expect(fake.out()).toContain("was stopped.");
    expect(fake.err()).toMatch(/^Running .* in this folder …\n$/);
    engine.script = () => "ok";
    held.resolve("late");
  });

  it("says what is wrong with a gateway's address or key", async () => {
    const gone = await runLeyden(["try", "--url=http://127.0.0.1:9", ...node("")]);
    expect(gone.code).toBe(3);
    expect(gone.err).toContain("error [gateway_unreachable]: POST http://127.0.0.1:9/api/rollouts got no answer.");
    const shut = await runLeyden(["try", "--url", served.url, "--key=x", ...node("")]);
    expect(shut.err).toContain("Pass the gateway's key as --key.");
  });

  it.each([
    [
      [],
      "leyden try needs an agent: leyden try --list shows which.\nTo run a command of your own: leyden try -- COMMAND",
    ],
    [["code"], 'There is no harness "code". Did you mean "codex"?\nTo run a command of your own: leyden try -- code'],
    [["pi", "x"], "leyden try pi takes nothing more.\nTo run a command of your own: leyden try -- pi x"],
    [
      ["node", "a.js"],
      /^There is no harness "node"\. Known are: .*\nTo run a command of your own: leyden try -- node a\.js/,
    ],
  ])("refuses %j", async (args, message) => {
    const { code, err } = await runLeyden(["try", ...args]);
    expect(code).toBe(4);
    expect(err.replace("error [usage]: ", "").trim()).toEqual(
      typeof message === "string" ? message : expect.stringMatching(message),
    );
  });

  it("lists the agents it knows and refuses those that are not installed", async () => {
    const { code, json } = await runLeyden(["try", "--list", "--json"]);
    expect(code).toBe(0);
    const listed = json() as { harness: string; installed: boolean; package: string }[];
    expect(listed.map(({ harness }) => harness)).toEqual(harnesses.map(({ name }) => name));
    const missing = listed.find(({ installed }) => !installed);
    if (missing === undefined) return;
    const refused = await runLeyden(["try", missing.harness]);
    expect(refused.code).toBe(3);
    expect(refused.err).toContain(`error [not_installed]: ${missing.harness} is not installed`);
    expect(refused.err).toContain(`Run: npm install -g ${missing.package}`);
  });
});
