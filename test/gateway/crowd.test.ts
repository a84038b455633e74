/** Hundreds of long requests at once over HTTP: slow readers and clients that leave hold up nobody, and nothing is lost. */
import { request } from "node:http";
import { afterAll, beforeAll, expect, it } from "vitest";
import type { ServedGateway } from "../../gateway/listening.ts";
import { serveNode } from "../../gateway/serve_node.ts";
import { AppClient } from "./app_client.ts";

const crowd = 240;
const client = new AppClient();
let served: ServedGateway;
beforeAll(async () => {
  client.engine.contextLength = 1_000_000;
  served = await serveNode(client.app, { host: "127.0.0.1", port: 0 });
});
afterAll(() => served.close(1000));

type Manner = "reads" | "reads slowly" | "leaves" | "leaves midway";

/** One request of 10 kB, and what became of its reply of 10 kB. */
function call(at: number, manner: Manner): Promise<string> {
  const body = JSON.stringify({
    messages: [{ role: "user", content: `client ${at} ${"says something long. ".repeat(500)}` }],
    stream: at % 2 === 0,
    max_tokens: 90_000,
  });
  const { hostname, port } = new URL(served.url);
  const path = `/r/r${at % 40}/0/train/v1/chat/completions`;
  const headers = { authorization: "Bearer admin", "content-length": String(Buffer.byteLength(body)) };
  return new Promise((resolve, reject) => {
    const sent = request({ hostname, port, path, method: "POST", headers }, (response) => {
      const chunks: Buffer[] = [];
      if (manner === "leaves midway") response.once("data", () => sent.destroy());
      if (manner === "reads slowly") {
        response.pause();
        setTimeout(() => response.resume(), 400);
      }
      response.on("data", (chunk: Buffer) => chunks.push(chunk));
      response.on("error", () => resolve("left"));
      response.on("end", () => resolve(Buffer.concat(chunks).toString()));
    });
    sent.on("error", (fault) => (manner.startsWith("leaves") ? resolve("left") : reject(fault)));
    sent.on("close", () => resolve("left"));
    sent.end(body);
    if (manner === "leaves") setTimeout(() => sent.destroy(), 5);
  });
}

it("is served to the last of them", async () => {
  for (let at = 0; at < 40; at++) await client.create(`r${at}`);
  client.engine.script = async (_, prompt) => {
    await new Promise((resolve) => setTimeout(resolve, 20));
    return `${/client \d+ /.exec(prompt)?.[0]}${"word ".repeat(2000)}end`;
  };
  const manners: Manner[] = ["reads", "reads", "reads slowly", "leaves", "reads", "leaves midway"];
  const replies = await Promise.all(
    Array.from({ length: crowd }, async (_, at) => {
      const manner = manners[at % manners.length] as Manner;
      return { at, manner, text: await call(at, manner) };
    }),
  );
  for (const { at, text } of replies.filter(({ manner }) => manner.startsWith("reads"))) {
    expect(text).toContain(`client ${at} word`);
    if (at % 2 === 0) expect(text.endsWith("data: [DONE]\n\n")).toBe(true);
    else expect((JSON.parse(text) as { choices: unknown[] }).choices).toHaveLength(1);
  }
  const waiting = () => Array.from({ length: 40 }, (_, at) => client.app.waitingCalls(`r${at}`, "0"));
  await expect.poll(() => Math.max(...waiting()), { timeout: 5000 }).toBe(0);
  const recorded = async () =>
    (await Promise.all(Array.from({ length: 40 }, (_, at) => client.calls(`r${at}`)))).flat();
  await expect
    .poll(async () => (await recorded()).every(({ delivery }) => delivery !== "pending"), { timeout: 5000 })
    .toBe(true);
  const calls = await recorded();
  const delivered = calls.filter(({ delivery }) => delivery === "delivered").length;
  const readers = replies.filter(({ manner }) => manner.startsWith("reads")).length;
  // Who leaves midway may have had all of it in the buffers between.
  expect(delivered).toBeGreaterThanOrEqual(readers);
  expect(delivered).toBeLessThanOrEqual(readers + crowd / 6);
  expect(client.faults).toEqual([]);
  expect((await client.ask("r0", "hi")).choices[0]?.finish_reason).toBe("stop");
}, 60_000);
