// Programs of a tab: a script in a web worker behaves towards its host as a process does.
import type { Browser, Page } from "playwright-core";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { launchChromium } from "./support/chromium.ts";
import type { ProgramResult, ProgramRun } from "./support/programs_entry.ts";
import { serveTab, type TabSite } from "./support/tab_site.ts";

const gatewayUrl = "https://gateway.invalid";
let site: TabSite;
let browser: Browser;
let page: Page;

beforeAll(async () => {
  [site, browser] = await Promise.all([serveTab("test/page/support/programs_entry.ts"), launchChromium()]);
  page = await browser.newPage();
  await page.goto(site.url);
  await page.waitForFunction(() => "runProgram" in globalThis);
});

afterAll(async () => {
  await browser?.close();
  await site?.close();
});

/** Runs a script in the page's host of programs. */
function run(source: string, options: Omit<ProgramRun, "source"> = {}): Promise<ProgramResult> {
  return page.evaluate(
    (asked) => (globalThis as unknown as { runProgram(asked: ProgramRun): Promise<ProgramResult> }).runProgram(asked),
    { source, ...options },
  );
}

const ended = { code: 0, signal: null, overflowed: false, outputError: null };

describe("programs of a tab", () => {
  it("get arguments, variables and input, and write to both outputs", async () => {
    const source = `
      console.log("args", process.argv.slice(2), process.argv[0]);
      console.info("%s is %d", process.env.NAME, 7, { a: [1] });
      process.stdout.write("no line end");
      for await (const part of process.stdin) console.error("in:", part);`;
    const result = await run(source, { args: ["x y", "ü"], env: { NAME: "n" }, stdin: "given" });
    expect(result).toMatchObject(ended);
    expect(result.stdout).toBe('args ["x y","ü"] node\nn is 7 {"a":[1]}\nno line end');
    expect(result.stderr).toBe("in: given\n");
    expect(result.outputBytes).toBe(new TextEncoder().encode(result.stdout + result.stderr).length);
  });

  it("end when nothing is left to do: timers, requests and bodies are waited for", async () => {
    const source = `
      setTimeout(() => console.log("timer"), 60);
      fetch("${gatewayUrl}/v1").then((response) => response.text()).then((text) => console.log(text));
      const repeated = setInterval(() => { console.log("tick"); clearInterval(repeated); }, 10);
      setTimeout(() => console.log("never"), 60_000).unref();
      process.on("exit", (code) => console.log("exit", code));`;
    const result = await run(source);
    expect(result).toMatchObject(ended);
    expect(result.stdout.split("\n").sort()).toEqual(["", "/v1/v1", "exit 0", "tick", "timer"]);
  });

  it("exit with their code at once, or with the one they have set", async () => {
    const exits = await run(`try { process.exit(3); } finally { console.log("late"); }`);
    expect(exits).toMatchObject({ code: 3, signal: null, stdout: "", stderr: "" });
    expect(await run("process.exitCode = 4;")).toMatchObject({ code: 4 });
    expect(await run("await new Promise(() => {});")).toMatchObject({ code: 13 });
    const later = await run(`setTimeout(() => process.exit(5), 5); await new Promise(() => {});`);
    expect(later).toMatchObject({ code: 5 });
  });

  it("fail with code 1 and the stack when an error, a rejection or the script itself is not caught", async () => {
    for (const source of [
      'throw new Error("at once")',
      'setTimeout(() => { throw new Error("at once"); }, 5)',
      'Promise.reject(new Error("at once")); await new Promise((resolve) => setTimeout(resolve, 1000))',
    ]) {
      const result = await run(source);
      expect(result).toMatchObject({ code: 1, signal: null });
      expect(result.stderr).toContain("Error: at once\n    at ");
    }
    expect(await run("this is no script")).toMatchObject({ code: 1 });
    const handled = await run(
      'process.on("uncaughtException", ({ message }) => console.log(message)); throw new Error("m")',
    );
    expect(handled).toMatchObject({ code: 0, stdout: "m\n", stderr: "" });
  });

  it("are ended by signals, those that compute without end too; a listener is asked first", async () => {
    const busy = await run('console.log("on"); for (;;) {}', { kill: ["SIGTERM"] });
    expect(busy).toMatchObject({ code: null, signal: "SIGTERM", stdout: "on\n" });
    const asked = await run(
      'console.log("on"); process.on("SIGTERM", (name) => { console.log(name); process.exit(9); }); setInterval(() => {}, 1000);',
      { kill: ["SIGTERM"] },
    );
    expect(asked).toMatchObject({ code: 9, signal: null, stdout: "on\nSIGTERM\n" });
    const deaf = await run('console.log(1); process.on("SIGTERM", () => {}); setInterval(() => {}, 1000);', {
      kill: ["SIGKILL"],
    });
    expect(deaf).toMatchObject({ code: null, signal: "SIGKILL" });
  });

  it("are ended when they write more than they may, what came before being kept", async () => {
    const result = await run('for (;;) console.log("0123456789");', { outputLimitBytes: 25 });
    expect(result).toMatchObject({ code: null, signal: "SIGKILL", overflowed: true, outputBytes: 25 });
    expect(result.stdout).toBe("0123456789\n0123456789\n012");
  });

  it("read a stream of their gateway as it comes, and end it by an abort", async () => {
    const source = `
      const stop = new AbortController();
      const response = await fetch("${gatewayUrl}/stream", { signal: stop.signal });
      console.log(response.url, response.headers.get("content-type"));
      const reader = response.body.getReader();
      for (let n = 0; n < 3; n++) console.log(new TextDecoder().decode((await reader.read()).value).trim());
      await reader.cancel();`;
    const result = await run(source);
    expect(result.stdout).toBe("https://gateway.invalid/stream text/event-stream\ndata: 0\ndata: 1\ndata: 2\n");
    expect([result.code, result.cancelled]).toEqual([0, true]);
  });

  it("are no others than the page's own", async () => {
    const message = 'Could not start "python agent.py": a tab runs only the scripts that came with it.';
    expect(await run("", { command: ["python", "agent.py"] })).toMatchObject({ refused: ["spawn_failed", message] });
    expect(await run("", { command: ["node", "other.ts"] })).toMatchObject({
      refused: ["spawn_failed", expect.anything()],
    });
  });
});
