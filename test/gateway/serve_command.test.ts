/**
 * `leyden serve` as a program. Plan: what it prints, options, refusals, stopping by signal, the store's file across
 * restarts and kills, Deno.
 */
import { once } from "node:events";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterAll, describe, expect, it } from "vitest";
import { commands } from "../../src/cli/commands.ts";
import { runCommandLine } from "../../src/cli/run.ts";
import { platform } from "../../src/platform/node.ts";
import type { Terminal } from "../../src/schema/platform.ts";
import { completion, StubUpstream } from "./protocol/stub_upstream.ts";
import { Client, read, type ServedProcess, startServed } from "./served_process.ts";

const folder = mkdtempSync(join(tmpdir(), "leyden-serve-"));
const root = fileURLToPath(new URL("../..", import.meta.url));
afterAll(() => rmSync(folder, { recursive: true }));

/** Runs the command in this process: for what ends before it serves. */
async function run(
  ...args: string[]
): Promise<{ status: number; error: { code: string; message: string; do: string } }> {
  let out = "";
  const terminal: Terminal = {
    ...platform.terminal,
    args: ["serve", ...args, "--json"],
    out: (text) => {
      out += text;
    },
    onUncaught: () => {},
    onStop: () => () => {},
  };
  const status = await runCommandLine({ ...platform, terminal }, commands);
  return { status, ...(JSON.parse(out) as { error: { code: string; message: string; do: string } }) };
}

describe("leyden serve", () => {
  it("prints where it serves, with a random key on loopback, and ends with 0 on SIGTERM", async () => {
    const served = await startServed(["--gateway-only"]);
    expect(served.url).toMatch(/^http:\/\/127\.0\.0\.1:\d+$/);
    expect(served.key).toMatch(/^[0-9a-f]{48}$/);
    expect(served.pid).toBe(served.process.pid);
    const client = new Client(served);
    expect((await client.get("/proxy/state")).status).toBe(200);
    expect((await client.get("/proxy/state", { authorization: "Bearer x" })).status).toBe(401);
    expect(await served.stop()).toBe(0);
  });

  it("lets a call under way end when it is told to stop", async () => {
    const upstream = new StubUpstream();
    await upstream.start();
    const served = await startServed(["--gateway-only", "--model-name=m"]);
    const client = new Client(served);
    await client.create("r");
    await client.post("/api/models", [{ model: "m", endpoint: upstream.endpoint }]);
    const reply = Promise.withResolvers<void>();
    upstream.reply = async () => {
      await reply.promise;
      return { json: completion([1], [2]) };
    };
    const call = read(client.post(client.proxy("r"), {}));
    await expect.poll(() => upstream.calls.length).toBe(1);
    const stopped = served.stop();
    await new Promise((resolve) => setTimeout(resolve, 100));
    reply.resolve();
    expect((await call).status).toBe(200);
    expect(await stopped).toBe(0);
    await upstream.stop();
  });

  it("refuses what makes no sense, and says what does", async () => {
    expect(await run()).toEqual({
      status: 4,
      error: {
        code: "usage",
        message: "leyden serve needs --model DIR or --gateway-only, and not both.",
        do: "Pass --model DIR to serve a model, --gateway-only to forward calls, or --lan alone to serve the page.",
      },
    });
    expect((await run("--gateway-only", "--model", "x")).status).toBe(4);
    expect((await run("--gateway-only", "--port", "-1")).error.message).toBe("--port is -1, below 0.");
    expect(await run("--gateway-only", "--host", "999.1.1.1")).toMatchObject({
      status: 3,
      error: { code: "cannot_listen" },
    });
    expect((await run("--model", join(folder, "nothing"))).error.code).toBe("tokenizer_missing");
  });

  it("keeps its store in a file, through a stop and a kill", async () => {
    const args = ["--gateway-only", "--key=k", `--store=${join(folder, "store.sqlite")}`];
    const sessions: ((client: Client, served: ServedProcess) => Promise<void>)[] = [
      async (client, served) => {
        await client.create("a");
        await client.patch("/api/rollouts/a", { status: { state: "running" } });
        expect(await served.stop()).toBe(0);
      },
      async (client, served) => {
        await client.post("/api/rollouts/a/attempt/0/events", { event_type: "reward", data: { value: 1 } });
        const gone = once(served.process, "exit");
        served.process.kill("SIGKILL");
        await gone;
      },
      async (client, served) => {
        expect((await read(client.get("/api/rollouts/a"))).body).toMatchObject({
          rollout: { status: { state: "running" } },
          attempts: ["0"],
        });
        expect(await client.events("a")).toMatchObject([{ event_type: "reward", data: { value: 1 } }]);
        expect(await served.stop()).toBe(0);
      },
    ];
    for (const session of sessions) {
      const served = await startServed(args);
      await session(new Client(served), served);
    }
  });
});

describe("leyden serve on Deno", () => {
  it("serves, records, notices a client that goes, and ends with 0", async () => {
    const upstream = new StubUpstream();
    await upstream.start();
    const served = await startServed(
      ["--gateway-only", "--model-name=m"],
      [`${root}node_modules/.bin/deno`, "run", "-A", "--no-check"],
    );
    const client = new Client(served);
    await client.create("r");
    await client.post("/api/models", [{ model: "m", endpoint: upstream.endpoint }]);
    upstream.reply = () => ({ json: completion([1], [2]) });
    expect((await client.post(client.proxy("r"), {})).status).toBe(200);
    const key = ((await read(client.post("/api/rollouts/r/attempt/0/key"))).body as { key: string }).key;
    const agent = new Client({ url: served.url, key });
    const body = { messages: [{ role: "user", content: "x" }], stream: true };
    expect(await (await agent.post("/v1/chat/completions", body)).text()).toMatch(/data: \[DONE\]\n\n$/);
    const deliveries = async () => {
      const { calls } = (await read(client.get("/api/rollouts/r/calls"))).body as { calls: { delivery: string }[] };
      return calls.map((call) => call.delivery);
    };
    await expect.poll(deliveries).toEqual(["delivered", "delivered"]);
    upstream.reply = () => ({ respond: () => {} });
    const stop = new AbortController();
    const headers = { authorization: `Bearer ${key}` };
    const gone = fetch(`${served.url}/v1/chat/completions`, {
      method: "POST",
      headers,
      body: JSON.stringify(body),
      signal: stop.signal,
    });
    await expect.poll(() => upstream.calls.length).toBe(3);
    stop.abort();
    await expect(gone).rejects.toThrow();
    await upstream.calls[2]?.closed;
    await expect
      .poll(async () => (await read(client.get("/api/rollouts/r/calls"))).body)
      .toMatchObject({ failures: [{ code: "abandoned" }] });
    expect(await served.stop()).toBe(0);
    await upstream.stop();
  });
});
