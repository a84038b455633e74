/** What a gateway's rate is compared with: Hono on Node, which reads a body and sends it back. */
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { stdin } from "node:process";
import { createInterface } from "node:readline";
import { getRequestListener } from "@hono/node-server";
import { Hono } from "hono";
import { platform } from "#platform";
import type { HostPlatform } from "../schema/platform.ts";

const app = new Hono();
app.post("*", async (context) => context.text(await context.req.text()));
const server = createServer(getRequestListener(app.fetch));
server.listen(0, "127.0.0.1", () => {
  const { port } = server.address() as AddressInfo;
  (platform as HostPlatform).terminal.out(`${JSON.stringify({ url: `http://127.0.0.1:${port}` })}\n`);
});
for await (const _ of createInterface({ input: stdin })) break;
server.closeAllConnections();
server.close();
