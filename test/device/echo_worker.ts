import { platform } from "#platform";

const port = platform.workerPort();

port.onMessage(async (message) => {
  const { kind, data } = message as { kind: "echo" | "gpu" | "throw"; data?: Float32Array<ArrayBuffer> };
  if (kind === "throw") throw new Error("asked to fail");
  if (kind === "gpu") port.post((await (await platform.gpu()).requestAdapter()) !== null);
  if (kind === "echo" && data !== undefined) port.post(data, [data.buffer]);
});
