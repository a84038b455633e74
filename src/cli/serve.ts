import { pid } from "node:process";
import { createApp } from "../../gateway/app.ts";
import { gatewayDefaults } from "../../gateway/config.ts";
import type { ServedModel } from "../../gateway/deps.ts";
import { listen } from "../app/listen.ts";
import { openStore } from "../app/open_store.ts";
import { hex } from "../core/clock.ts";
import { asLeydenError } from "../core/errors.ts";
import type { HostPlatform } from "../schema/platform.ts";
import type { Args } from "./args.ts";
import { UsageError } from "./args.ts";
import type { Command, CommandContext } from "./command.ts";

/** How long calls under way may take after a stop signal. */
const drainMs = 10_000;

/** `leyden serve`: the gateway as a program of its own. */
export const command: Command = {
  name: "serve",
  summary: "Serves a model, or forwards to registered ones, and records the calls of rollouts.",
  options: {
    model: { kind: "text", value: "DIR", summary: "Model folder to serve." },
    "gateway-only": { kind: "flag", summary: "Serve no model: forward to endpoints registered by POST /api/models." },
    host: { kind: "text", value: "HOST", summary: "Address to listen on.", fallback: "127.0.0.1" },
    port: { kind: "integer", value: "N", summary: "Port to listen on; 0 takes a free one.", fallback: 0, min: 0 },
    key: { kind: "text", value: "K", summary: 'The admin\'s key; random by default, "" turns authentication off.' },
    "model-name": { kind: "text", value: "NAME", summary: "Name of the policy.", fallback: gatewayDefaults.modelName },
    "train-temperature": {
      kind: "number",
      value: "T",
      summary: "Temperature of calls in train mode.",
      fallback: gatewayDefaults.trainTemperature,
      min: 0,
    },
    "val-temperature": {
      kind: "number",
      value: "T",
      summary: "Temperature of calls in val mode.",
      fallback: gatewayDefaults.valTemperature,
      min: 0,
    },
    store: { kind: "text", value: "FILE", summary: 'SQLite file of the records, or "memory".', fallback: "memory" },
  },
  run: serve,
};

/** The model folder to serve, null with --gateway-only. @throws UsageError */
function modelFolder(args: Args): string | null {
  const folder = args.text("model");
  if ((folder === undefined) === args.flag("gateway-only")) return folder ?? null;
  throw new UsageError("leyden serve needs --model DIR or --gateway-only, and not both.", {
    do: "Pass --model DIR to serve a model, or --gateway-only to forward calls.",
  });
}

/** Loads what a model takes only when there is one: a gateway alone starts in half the time. */
async function openModel(platform: HostPlatform, folder: string): Promise<ServedModel> {
  const { openServedModel } = await import("../app/open_served_model.ts");
  return await openServedModel(platform, folder);
}

async function serve(context: CommandContext): Promise<number> {
  const { args, platform, note } = context;
  const folder = modelFolder(args);
  const stop = context.stopSignal();
  const key = args.text("key") ?? hex(platform.entropy.bytes(24));
  const store = await openStore(platform, args.requireText("store"));
  const model = folder === null ? null : await openModel(platform, folder);
  const app = createApp({
    store,
    model,
    clock: platform.clock,
    entropy: platform.entropy,
    config: {
      key,
      modelName: args.requireText("model-name"),
      trainTemperature: args.requireNumber("train-temperature"),
      valTemperature: args.requireNumber("val-temperature"),
    },
    report: (fault) => note(`gateway: ${asLeydenError(fault).message}`),
  });
  const served = await listen(platform, app, { host: args.requireText("host"), port: args.requireNumber("port") });
  if (key === "") note("Authentication is off: whoever reaches this address may do everything.");
  context.printJson({ url: served.url, key, pid });
  if (!context.json) note(`Serving ${model ? folder : "registered endpoints"} at ${served.url}. Ctrl+C stops.`);
  if (!stop.aborted) await new Promise((resolve) => stop.addEventListener("abort", resolve, { once: true }));
  await served.close(drainMs);
  await model?.engine.close();
  await store.close();
  return 0;
}
