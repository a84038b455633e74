import { describe, expect, it } from "vitest";
import { posixGroupKiller, systemGroupKiller, windowsGroupKiller } from "../../src/platform/process_group.ts";

function failing(code: string) {
  return posixGroupKiller(() => {
    throw Object.assign(new Error(code), { code });
  });
}

describe("killing a process group", () => {
  it("signals the negative pid on POSIX", () => {
    const sent: [number, string][] = [];
    const kill = posixGroupKiller((pid, signal) => sent.push([pid, signal]));
    kill(42, "SIGTERM");
    kill(42, "SIGKILL");
    expect(sent).toEqual([
      [-42, "SIGTERM"],
      [-42, "SIGKILL"],
    ]);
  });

  it("is at peace with a group that has gone, and with nothing else", () => {
    expect(() => failing("ESRCH")(42, "SIGKILL")).not.toThrow();
    expect(() => failing("EPERM")(42, "SIGKILL")).not.toThrow();
    expect(() => failing("EINVAL")(42, "SIGKILL")).toThrow("EINVAL");
  });

  it("ends the tree by force on Windows, whatever the signal", () => {
    const ran: unknown[] = [];
    const kill = windowsGroupKiller((command, args) => ran.push([command, ...args]));
    kill(42, "SIGTERM");
    kill(43, "SIGKILL");
    expect(ran).toEqual([
      ["taskkill", "/pid", "42", "/T", "/F"],
      ["taskkill", "/pid", "43", "/T", "/F"],
    ]);
  });

  it("survives a Windows without taskkill", async () => {
    // On this system there is none, which is the case to survive: an error event nobody handles would end the process.
    systemGroupKiller("win32")(42, "SIGKILL");
    await new Promise((resolve) => setTimeout(resolve, 50));
  });
});
