/** OpenAI Responses over sockets: a client that leaves at the last event, and one that first tries a WebSocket. */
import { request } from "node:http";
import OpenAI from "openai";
import { afterEach, beforeEach, expect, it } from "vitest";
import type { ServedGateway } from "../../gateway/listening.ts";
import { serveNode } from "../../gateway/serve_node.ts";
import { AppClient } from "./app_client.ts";

let client: AppClient;
let served: ServedGateway;
beforeEach(async () => {
  client = new AppClient();
  served = await serveNode(client.app, { host: "127.0.0.1", port: 0 });
  await client.create("r");
});
afterEach(() => served.close(0));

it("a stream that is left at response.completed was delivered, long as it may be", async () => {
  const openai = new OpenAI({ baseURL: `${served.url}/r/r/0/train/v1`, apiKey: "admin", maxRetries: 0 });
  const description = "x".repeat(300_000);
  const tools = [{ type: "function" as const, name: "f", description, parameters: {}, strict: false }];
  client.engine.contextLength = 1_000_000;
  for (const name of ["first", "second"]) {
    client.engine.script = () => name;
    const stream = await openai.responses.create({ model: "m", input: name, tools, stream: true });
    let text = "";
    for await (const event of stream) {
      if (event.type === "response.output_text.delta") text += event.delta;
      if (event.type === "response.completed") break;
    }
    expect(text).toBe(name);
  }
  const deliveries = async () => (await client.calls("r")).map((call) => call.delivery);
  await expect.poll(deliveries).toEqual(["delivered", "delivered"]);
});

it("a WebSocket is refused with 426", async () => {
  const headers = {
    authorization: "Bearer admin",
    connection: "Upgrade",
    upgrade: "websocket",
    "sec-websocket-version": "13",
    "sec-websocket-key": "AAAAAAAAAAAAAAAAAAAAAA==",
    "openai-beta": "responses_websockets=2026-02-06",
  };
  const status = await new Promise((resolve, reject) => {
    const sent = request(`${served.url}/r/r/0/train/v1/responses`, { headers }, (response) => {
      response.resume();
      resolve(response.statusCode);
    });
    sent.on("upgrade", () => reject(new Error("upgraded")));
    sent.on("error", reject);
    sent.end();
  });
  expect(status).toBe(426);
});
