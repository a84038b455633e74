/**
 * A coding agent that people install, unmodified, against the model of a browser tab: `leyden relay` serves the page, the
 * tab's experiment for trials is opened with scripted replies, and the agent runs a shell command and reads a file with
 * them. The studio in that tab then shows each turn as the verbatim continuation of the one before.
 */
import { type ChildProcess, spawn } from "node:child_process";
import { mkdirSync } from "node:fs";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";
import type { Browser } from "playwright-core";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { layOutHarness, trialScript } from "../../src/app/trial/trial_agent.ts";
import { platform } from "../../src/platform/node.ts";
import { trialAnswer } from "../../src/rollout/harnesses/harness.ts";
import { pi } from "../../src/rollout/harnesses/pi.ts";
import type { AgentAccess } from "../../src/schema/rollout_client.ts";
import { complaintsOf, launchChromium } from "../page/support/chromium.ts";
import { harnessFolder } from "./rig.ts";

const root = fileURLToPath(new URL("../..", import.meta.url));
const shots = process.env.LEYDEN_SCREENSHOTS ?? "";

let relay: ChildProcess;
let told: { url: string; page: string; env: Record<string, string> };
let browser: Browser;
let folder = "";

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "leyden-relay-"));
  relay = spawn(process.execPath, ["src/cli/main.ts", "relay", "--json"], {
    cwd: root,
    stdio: ["ignore", "pipe", "ignore"],
  });
  const lines = createInterface({ input: relay.stdout as NodeJS.ReadableStream });
  told = JSON.parse((await lines[Symbol.asyncIterator]().next()).value as string);
  browser = await launchChromium();
}, 60_000);
afterAll(async () => {
  relay?.kill("SIGTERM");
  await browser?.close();
  await rm(folder, { recursive: true, force: true });
});

/** Runs the agent to its end with the relay's address. */
async function runAgent(): Promise<{ code: number | null; stdout: string; stderr: string }> {
  const base = `${told.url}/as/pi`;
  const key = told.env.OPENAI_API_KEY ?? "";
  const access: AgentAccess = { key, openaiBaseUrl: `${base}/v1`, nativeBaseUrl: base, aglBaseUrl: "", eventUrl: "" };
  const program = join(harnessFolder, "node_modules/.bin", pi.program);
  const { command, cwd, env } = await layOutHarness(platform.files, pi, { folder, access, program });
  const [name = "", ...args] = command;
  const child = spawn(name, args, { cwd, env: { PATH: process.env.PATH, ...env }, stdio: ["ignore", "pipe", "pipe"] });
  let stdout = "";
  let stderr = "";
  child.stdout.on("data", (text) => {
    stdout += text;
  });
  child.stderr.on("data", (text) => {
    stderr += text;
  });
  const code = await new Promise<number | null>((resolve) => child.on("close", resolve));
  return { code, stdout, stderr };
}

describe("leyden relay", () => {
  it("lets a coding agent use the model of a tab, two tool turns recorded verbatim", async () => {
    const context = await browser.newContext({ locale: "en-US" });
    const complaints = complaintsOf(context);
    const page = await context.newPage();
    await page.goto(told.page);
    await page.getByText("Connected. Start an experiment").waitFor();
    expect(page.url()).not.toContain("relay=");
    await page.getByRole("combobox", { name: /^Experiment/ }).selectOption("trial");
    await page.getByText("Every setting").click();
    const script = trialScript(platform.files, pi, folder).map((reply) => JSON.stringify(reply));
    await page.getByRole("textbox", { name: "Scripted replies" }).fill(script.join("\n"));
    await page.getByRole("button", { name: "Open, and wait" }).click();
    await page.getByRole("status").filter({ hasText: "Paused" }).waitFor({ timeout: 240_000 });

    const { code, stdout, stderr } = await runAgent();
    expect({ code, stderr: code === 0 ? "" : stderr }).toEqual({ code: 0, stderr: "" });
    expect(stdout).toContain(trialAnswer.text);
    await page.getByText("3 requests answered").waitFor();

    await page.evaluate(() => {
      location.hash = "#/rollouts/relay-pi";
    });
    const calls = page.getByRole("navigation", { name: "Calls of this rollout" }).getByRole("listitem");
    await expect.poll(() => calls.count(), { timeout: 60_000 }).toBe(3);
    const texts = await calls.allInnerTexts();
    if (shots !== "") {
      mkdirSync(shots, { recursive: true });
      await page.screenshot({ path: join(shots, "relay.png"), fullPage: true });
    }
    expect(texts[0]).toContain("begins anew");
    expect(texts[1]).toMatch(/continues 1/);
    expect(texts[2]).toMatch(/continues 2/);
    expect(complaints).toEqual([]);
    await context.close();
  }, 600_000);

  it("opens its page once", async () => {
    const context = await browser.newContext({ locale: "en-US" });
    complaintsOf(context);
    const page = await context.newPage();
    await page.goto(told.page);
    await page.getByText("Its address was used already").waitFor();
    await context.close();
  }, 240_000);
});
