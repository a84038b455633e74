/** Programs of a page that is one file on a disk: each a classic script, which behaves as the module does elsewhere. */
import type { Browser, Page } from "playwright-core";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { launchChromium } from "./support/chromium.ts";
import { type DiskPage, writePage } from "./support/disk_page.ts";
import type { ProgramResult, ProgramRun } from "./support/programs_entry.ts";

const gatewayUrl = "https://gateway.invalid";
let file: DiskPage;
let browser: Browser;
let page: Page;

beforeAll(async () => {
  [file, browser] = await Promise.all([writePage("test/page/support/programs_entry.ts"), launchChromium()]);
  page = await browser.newPage();
  await page.goto(file.url);
  await page.waitForFunction(() => "runProgram" in globalThis);
});

afterAll(async () => {
  await browser?.close();
  await file?.remove();
});

/** Runs a module's text as a script in the page's host of programs. */
function run(source: string, options: Omit<ProgramRun, "source"> = {}): Promise<ProgramResult> {
  return page.evaluate(
    (asked) => (globalThis as unknown as { runProgram(asked: ProgramRun): Promise<ProgramResult> }).runProgram(asked),
    { source, isScript: true, ...options },
  );
}

describe("programs of a page on a disk", () => {
  it("get arguments, variables and input, ask their gateway, and may await at their top", async () => {
    const source = `
      console.log("args", process.argv.slice(2), process.env.NAME);
      const response = await fetch("${gatewayUrl}/v1");
      console.log(await response.text());
      setTimeout(() => console.log("timer"), 30);
      for await (const part of process.stdin) console.error("in:", part);`;
    const result = await run(source, { args: ["x y"], env: { NAME: "n" }, stdin: "given" });
    expect(result).toMatchObject({ code: 0, signal: null, outputError: null });
    expect(result.stdout).toBe('args ["x y"] n\n/v1/v1\ntimer\n');
    expect(result.stderr).toBe("in: given\n");
  });

  it("are strict, and keep their names to themselves", async () => {
    const source = `
      var own = 1;
      console.log(this === undefined, typeof globalThis.own);
      undeclared = 1;`;
    const result = await run(source);
    expect(result).toMatchObject({ code: 1, stdout: "true undefined\n" });
    expect(result.stderr).toContain("ReferenceError: undeclared is not defined");
  });

  it("fail with code 1 and the stack, at once, after an await, and when the text is no program", async () => {
    for (const wait of ["", "await new Promise((resolve) => setTimeout(resolve, 5));"]) {
      const result = await run(`${wait} throw new Error("mine");`);
      expect(result).toMatchObject({ code: 1, signal: null });
      expect(result.stderr).toContain("Error: mine\n    at ");
    }
    const broken = await run("this is no script");
    expect(broken).toMatchObject({ code: 1, stdout: "" });
    expect(broken.stderr).toContain("SyntaxError");
    expect(await run("process.exit(3); console.log('late');")).toMatchObject({ code: 3, stdout: "" });
  });

  it("end on their last line, a comment too", async () => {
    expect(await run('console.log("on"); // the end')).toMatchObject({ code: 0, stdout: "on\n", stderr: "" });
  });
});
