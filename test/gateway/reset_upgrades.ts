import { connect } from "node:net";

/** Asks a server for a WebSocket that it refuses, and resets the connection before the answer; `count` times. */
export async function resetUpgrades(url: string, path: string, count: number): Promise<void> {
  const { hostname, port, host } = new URL(url);
  const fields = ["connection: upgrade", "upgrade: websocket", "sec-websocket-version: 13"];
  const key = `sec-websocket-key: ${Buffer.alloc(16).toString("base64")}`;
  const head = [`GET ${path} HTTP/1.1`, `host: ${host}`, "origin: http://elsewhere.example", ...fields, key];
  for (let i = 0; i < count; i++) {
    await new Promise<void>((resolve, reject) => {
      const socket = connect(Number(port), hostname, () => {
        socket.write(`${head.join("\r\n")}\r\n\r\n`, () => {
          socket.resetAndDestroy();
          resolve();
        });
      });
      socket.on("error", reject);
    });
  }
}
