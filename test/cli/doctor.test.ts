import { describe, expect, it } from "vitest";
import type { ProbeReport } from "../../src/cli/adapter_probe.ts";
import { commands } from "../../src/cli/commands.ts";
import { runCommandLine } from "../../src/cli/run.ts";
import { EnvironmentError } from "../../src/core/errors.ts";
import { type FakeFacts, type FakeRun, fakePlatform } from "./fake_platform.ts";

const llvmpipe: ProbeReport = {
  adapter: {
    name: "mesa | llvmpipe",
    vendor: "mesa",
    architecture: "software",
    device: "llvmpipe",
    description: "llvmpipe: Mesa 25",
    isFallback: true,
    class: "software",
    features: ["shader-f16"],
    limits: { maxBufferSize: 1024 },
    computes: true,
  },
};

const found: FakeRun = { stdout: `${JSON.stringify(llvmpipe)}\n` };
const none: FakeRun = { stdout: '{"adapter":null}\n' };

const debian = {
  "/etc/os-release": "ID=debian\nVERSION_ID=12\nVERSION_CODENAME=bookworm\n",
  "/etc/apt/sources.list.d/debian.sources": "URIs: http://mirror.example/debian\nSuites: bookworm\n",
};

const commandTexts = [
  "echo 'deb http://mirror.example/debian bookworm-backports main' | tee /etc/apt/sources.list.d/leyden_backports.list",
  "apt-get update",
  "apt-get install -y --no-install-recommends -t bookworm-backports mesa-vulkan-drivers libvulkan1",
];

/** Runs doctor; `probes` are the probe's answers in turn, `install` what the installing commands do. */
async function doctor(args: string[], probes: FakeRun[], facts: FakeFacts = {}, install: FakeRun = {}) {
  const left = [...probes];
  const fake = fakePlatform({
    files: debian,
    ...facts,
    args: ["doctor", ...args],
    programs(line) {
      if (line === "deno --version") return { stdout: "deno 2.9.6 (stable, release)\nv8 14\n" };
      if (line === "run adapter_probe.ts") return left.shift() ?? { code: 99 };
      return line.endsWith(" update") ? install : {};
    },
  });
  const code = await runCommandLine(fake.platform, commands);
  return { code, out: fake.out(), err: fake.err(), started: fake.started, files: fake.files };
}

describe("doctor on a machine that works", () => {
  it("prints one line and installs nothing", async () => {
    const { code, out, err, started } = await doctor(["--fix"], [found]);
    expect({ code, out, err }).toEqual({
      code: 0,
      out: "ok: mesa | llvmpipe (software), Node 24.15.0, Deno 2.9.6\n",
      err: "",
    });
    expect(started.sort()).toEqual(["deno --version", "run adapter_probe.ts"]);
  });

  it("reports everything as JSON", async () => {
    const { out } = await doctor(["--json"], [found]);
    expect(JSON.parse(out)).toEqual({
      ok: true,
      adapter: {
        name: "mesa | llvmpipe",
        vendor: "mesa",
        architecture: "software",
        device: "llvmpipe",
        description: "llvmpipe: Mesa 25",
        isFallback: true,
      },
      class: "software",
      features: ["shader-f16"],
      limits: { maxBufferSize: 1024 },
      node: "24.15.0",
      deno: "2.9.6",
      fix: [],
    });
  });

  it("does without Deno", async () => {
    const fake = fakePlatform({
      args: ["doctor"],
      programs(line) {
        if (line.startsWith("deno")) throw new EnvironmentError("spawn_failed", "there is no such program");
        return found;
      },
    });
    expect(await runCommandLine(fake.platform, commands)).toBe(0);
    expect(fake.out()).toContain("Deno absent");
  });
});

describe("doctor on a machine without an adapter", () => {
  it("says so and prints the commands", async () => {
    const { code, out, err } = await doctor([], [none]);
    expect({ code, out }).toEqual({ code: 3, out: "" });
    expect(err.split("\n").filter((line) => line !== "")).toEqual([
      "No WebGPU adapter: there is no Vulkan driver that works.",
      ...commandTexts.map((text) => `  ${text}`),
    ]);
  });

  it("lists the commands as JSON", async () => {
    const { code, out } = await doctor(["--json"], [none]);
    expect(code).toBe(3);
    expect(JSON.parse(out)).toMatchObject({
      ok: false,
      adapter: null,
      class: null,
      features: [],
      limits: {},
      fix: commandTexts,
    });
  });

  it("installs a driver with --fix as root, printing each command first", async () => {
    const { code, out, err, started } = await doctor(["--fix"], [none, found]);
    expect(code).toBe(0);
    expect(err).toContain(commandTexts.map((text) => `$ ${text}\n`).join(""));
    expect(started.filter((line) => /^(sh|env) /.test(line))).toHaveLength(3);
    expect(out).toMatch(/^ok: mesa/);
  });

  it("installs nothing when LEYDEN_NO_INSTALL=1, without root, or elsewhere", async () => {
    const forbidden = await doctor(["--fix"], [none], { env: { LEYDEN_NO_INSTALL: "1" } });
    expect(forbidden.code).toBe(3);
    expect(forbidden.err).toContain("LEYDEN_NO_INSTALL=1 is set, so nothing was installed.");
    const user = await doctor(["--fix"], [none], { system: { isRoot: false } });
    expect(user.err).toContain("  sudo apt-get update\n");
    const mac = await doctor(["--fix"], [none], { system: { os: "darwin" } });
    expect(mac.err).toContain("macOS needs nothing installed");
    for (const { code, started } of [forbidden, user, mac]) {
      expect(code).toBe(3);
      expect(started.filter((line) => /^(sh|env) /.test(line))).toEqual([]);
    }
  });

  it("takes back what it added when a command fails, and shows the end of its output", async () => {
    const added = "/etc/apt/sources.list.d/leyden_backports.list";
    const facts = { files: { ...debian, [added]: "deb …" } };
    const sources = await doctor(["--fix"], [none], facts, { code: 100, stderr: "E: no such suite\n" });
    expect(sources.code).toBe(3);
    expect(sources.err).toContain('error [setup_failed]: "apt-get update" ended with 100:\nE: no such suite\n');
    expect(sources.files.has(added)).toBe(false);
    expect(sources.started.filter((line) => line.includes(" install "))).toEqual([]);
  });

  it("says when the driver it installed does not help", async () => {
    const { code, err, out } = await doctor(["--fix", "--json"], [none, none]);
    expect(code).toBe(3);
    expect(err).toContain("The driver was installed, but: No WebGPU adapter");
    expect(JSON.parse(out)).toMatchObject({ ok: false, fix: [] });
  });
});

describe("doctor on a broken machine", () => {
  const withAdapter = (change: object): FakeRun => ({
    stdout: JSON.stringify({ adapter: { ...llvmpipe.adapter, ...change } }),
  });

  it.each<[string, FakeRun, string]>([
    [
      "crash",
      { signal: "SIGSEGV", stderr: "a\nfree(): invalid pointer\n" },
      "The driver crashed while computing (SIGSEGV). free(): invalid pointer",
    ],
    ["failure", { code: 7 }, "The driver crashed while computing (code 7)."],
    ["silence", { code: 0, stdout: "" }, "The driver crashed while computing (code 0)."],
    ["hang", { hang: true }, "The adapter did not answer within 60 s."],
    ["wrong results", withAdapter({ computes: false }), "The adapter mesa | llvmpipe computes wrong results."],
    [
      "no package",
      { stdout: '{"adapter":null,"error":{"code":"no_webgpu","message":"It is missing.","do":"Run npm ci."}}' },
      "It is missing. Run npm ci.",
    ],
  ])("reports a %s", async (_name, probe, problem) => {
    const { code, err } = await doctor([], [probe]);
    expect(code).toBe(3);
    expect(err.split("\n")[0]).toBe(problem);
  });
});
