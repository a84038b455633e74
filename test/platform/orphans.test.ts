// A program that ends takes the processes it started with it.
import { spawn } from "node:child_process";
import { once } from "node:events";
import { describe, expect, it } from "vitest";

const platformUrl = new URL("../../src/platform/node.ts", import.meta.url).href;

const program = `
  import { platform } from ${JSON.stringify(platformUrl)};
  const child = await platform.processes.spawn("sh", ["-c", "sleep 600"]);
  platform.terminal.onStop(() => platform.terminal.exit(143));
  platform.terminal.out(String(child.pid));
  await child.exit;
`;

function lives(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch {
    return false;
  }
}

describe("processes of a program that is stopped", () => {
  it.skipIf(process.platform === "win32")("end with it", async () => {
    const parent = spawn(process.execPath, ["--input-type=module", "--eval", program], {
      stdio: ["ignore", "pipe", "inherit"],
    });
    const [text] = await once(parent.stdout, "data");
    const pid = Number(String(text));
    expect(lives(pid)).toBe(true);
    parent.kill("SIGTERM");
    const [code] = await once(parent, "exit");
    expect(code).toBe(143);
    await expect.poll(() => lives(pid), { timeout: 5000 }).toBe(false);
  });
});
