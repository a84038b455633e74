import { pid } from "node:process";
import { createApp } from "../../gateway/app.ts";
import { ReplyScript } from "../../gateway/calls/reply_script.ts";
import { type GatewayOptions, gatewayDefaults } from "../../gateway/config.ts";
import type { GatewayDeps, ServedModel } from "../../gateway/deps.ts";
import type { Room } from "../../gateway/room/room.ts";
import { listen } from "../app/listen.ts";
import { loadScript } from "../app/load_script.ts";
import { openStore } from "../app/open_store.ts";
import { openTelemetry } from "../app/open_telemetry.ts";
import { hex } from "../core/clock.ts";
import { asLeydenError } from "../core/errors.ts";
import type { EngineOptions } from "../engine/engine_options.ts";
import type { HostPlatform } from "../schema/platform.ts";
import type { Store } from "../schema/store.ts";
import type { Args } from "./args.ts";
import { UsageError } from "./args.ts";
import type { Command, CommandContext } from "./command.ts";
import { namedValues, openNamedModels } from "./named_models.ts";
import { checkPlace, explainLan, type LanPlace, openLan } from "./serve_lan.ts";

/** Who writes the replies of a served model. */
const policies = ["model", "script", "null"] as const;
type Policy = (typeof policies)[number];

/** A model to serve, and who writes its replies. */
interface WantedModel {
  readonly folder: string;
  readonly policy: Policy;
  /** File of the replies, where a script writes them. */
  readonly script: string;
  readonly replyTokens: number;
  readonly options: Pick<EngineOptions, "weights" | "memoryBytes">;
}

/** How long calls under way may take after a stop signal. */
const drainMs = 10_000;

/** `leyden serve`: the gateway as a program of its own. */
export const command: Command = {
  name: "serve",
  summary: "Serves a model, or forwards to registered ones, and records the calls of rollouts.",
  options: {
    model: { kind: "text", value: "DIR", summary: "Model folder to serve." },
    weights: {
      kind: "text",
      summary: "How the model's matrices are held: a half or a quarter of the memory for a little precision.",
      choices: ["f32", "f16", "int8"],
      fallback: "f32",
    },
    memory: {
      kind: "integer",
      value: "MIB",
      summary: "Device memory to plan for (default: 2048 on a software adapter, else 4096).",
      min: 1,
    },
    policy: {
      kind: "text",
      summary: "Who writes replies: the model, a script forced through it, or nobody (random ids, no model runs).",
      choices: policies,
      fallback: "model",
    },
    script: { kind: "text", value: "FILE", summary: "With --policy script: JSON lines, one reply each." },
    "reply-tokens": {
      kind: "integer",
      value: "N",
      summary: "With --policy null: length of every reply in tokens.",
      fallback: 32,
      min: 1,
    },
    also: {
      kind: "list",
      value: "NAME=DIR",
      summary: "Another model folder, for calls that ask for NAME: never trained.",
    },
    alias: {
      kind: "list",
      value: "NAME=MODEL",
      summary: "Another name of a model, as harnesses ask for it.",
    },
    "gateway-only": { kind: "flag", summary: "Serve no model: forward to endpoints registered by POST /api/models." },
    lan: {
      kind: "flag",
      summary: "Listen on the local network, over TLS, and give everybody there the page; needs no model.",
    },
    room: {
      kind: "flag",
      summary: "With --lan: people join by a code, and their teacher sees how far each tab is.",
    },
    host: { kind: "text", value: "HOST", summary: "Address to listen on.", fallback: "127.0.0.1" },
    port: {
      kind: "integer",
      value: "N",
      summary: "Port to listen on; 0 takes a free one, with --lan 8443.",
      fallback: 0,
      min: 0,
    },
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
    otel: { kind: "text", value: "URL", summary: "OpenTelemetry collector (OTLP/HTTP) that gets the rollouts' spans." },
    store: { kind: "text", value: "FILE", summary: 'SQLite file of the records, or "memory".', fallback: "memory" },
  },
  run: serve,
};

/** What is served, as the options say; null with --gateway-only. @throws UsageError */
function wantedModel(args: Args): WantedModel | null {
  const folder = args.text("model");
  const isAlone = args.flag("gateway-only");
  if (folder === undefined ? !isAlone && !args.flag("lan") : isAlone) {
    throw new UsageError("leyden serve needs --model DIR or --gateway-only, and not both.", {
      do: "Pass --model DIR to serve a model, --gateway-only to forward calls, or --lan alone to serve the page.",
    });
  }
  const policy = args.requireText("policy") as Policy;
  const script = args.text("script");
  if (folder === undefined && policy !== "model") {
    throw new UsageError(`--policy ${policy} needs a model folder, for its tokenizer.`, { do: "Pass --model DIR." });
  }
  if ((script !== undefined) !== (policy === "script")) {
    throw new UsageError("--policy script and --script FILE belong together.", {
      do: "Pass both, or neither.",
    });
  }
  if (folder === undefined) return null;
  const options: WantedModel["options"] = {
    weights: args.requireText("weights") as EngineOptions["weights"],
    memoryBytes: (args.number("memory") ?? 0) * 2 ** 20,
  };
  return { folder, policy, script: script ?? "", replyTokens: args.requireNumber("reply-tokens"), options };
}

/** Loads what a model takes only when there is one: a gateway alone starts in half the time. */
async function openModel(platform: HostPlatform, wanted: WantedModel): Promise<ServedModel> {
  const { folder, policy, script, replyTokens, options } = wanted;
  if (policy === "null") {
    return await (await import("../app/open_null_model.ts")).openNullModel(platform, folder, replyTokens);
  }
  const replies = policy === "script" ? await loadScript(platform.files, script) : null;
  const served = await (await import("../app/open_served_model.ts")).openServedModel(platform, folder, options);
  return replies === null ? served : { ...served, script: new ReplyScript(replies) };
}

function gatewayOptions(args: Args, key: string, aliases: Readonly<Record<string, string>>): GatewayOptions {
  return {
    key,
    modelName: args.requireText("model-name"),
    aliases,
    trainTemperature: args.requireNumber("train-temperature"),
    valTemperature: args.requireNumber("val-temperature"),
  };
}

/** The studio over the recorded calls. In a room whose people hold no key, the page trains in each one's tab. */
async function studioParts(
  platform: HostPlatform,
  store: Store,
  { key, hasModel, isLan, room }: { key: string; hasModel: boolean; isLan: boolean; room: Room | null },
): Promise<Pick<GatewayDeps, "studio" | "page" | "room">> {
  const { RunView } = await import("../experiment/run_view.ts");
  const { pageFiles } = await import("../app/page_build/page_files.ts");
  const kind = isLan && !hasModel ? "tab" : "run";
  return {
    studio: new RunView({ store, files: platform.files, runFolder: "", name: "leyden serve", config: null }),
    page: pageFiles(platform, { kind, needsKey: key !== "", room: room !== null, selfSigned: isLan }),
    ...(room === null ? {} : { room }),
  };
}

/** The room that --room opens. */
async function openRoom({ entropy, clock }: HostPlatform, args: Args): Promise<Room | null> {
  if (!args.flag("room")) return null;
  const { newRoomCode, Room } = await import("../../gateway/room/room.ts");
  return new Room(newRoomCode(entropy), clock, entropy);
}

/** What of a served gateway people and programs are told. */
interface Served {
  readonly url: string;
  readonly key: string;
  readonly lan: LanPlace | null;
  readonly room: Room | null;
  /** Folder of the model, if one is served. */
  readonly what: string | undefined;
}

/** Where the gateway is, for programs and for people. */
function tellWhere(context: CommandContext, { url, key, lan, room, what }: Served): void {
  const { note } = context;
  if (key === "") note("Authentication is off: whoever reaches this address may do everything.");
  const [host] = lan?.hosts ?? [];
  const reached = lan === null ? url : `https://${host}:${lan.listen.port}`;
  const studio = `${reached}/studio/${key === "" ? "" : `#key=${key}`}`;
  const ofLan = lan === null ? {} : { fingerprint: lan.fingerprint };
  context.printJson({ url: reached, key, pid, studio, ...ofLan, ...(room === null ? {} : { room: room.code }) });
  if (context.json) return;
  const serving = what ?? (lan === null ? "registered endpoints" : "the page");
  note(`Serving ${serving} at ${reached}. Studio: ${studio}`);
  if (lan !== null) explainLan(context, lan);
  if (room !== null) note(`Code of the room: ${room.code}. Your view of it: ${studio}, then Room.`);
  note("Ctrl+C stops.");
}

async function serve(context: CommandContext): Promise<number> {
  const { args, platform, note } = context;
  const wanted = wantedModel(args);
  const also = namedValues("also", args.list("also"));
  const aliases = namedValues("alias", args.list("alias"));
  checkPlace(args);
  const stop = context.stopSignal();
  platform.terminal.outliveReader();
  const key = args.text("key") ?? hex(platform.entropy.bytes(24));
  const store = await openStore(platform, args.requireText("store"));
  const telemetry = await openTelemetry(platform, store, args.text("otel") ?? "", note);
  const model = wanted === null ? null : await openModel(platform, wanted);
  const others = await openNamedModels(platform, also);
  const lan = args.flag("lan") ? await openLan(platform, args) : null;
  const room = await openRoom(platform, args);
  const app = createApp({
    store,
    model,
    others,
    clock: platform.clock,
    entropy: platform.entropy,
    config: gatewayOptions(args, key, aliases),
    ...(await studioParts(platform, store, { key, hasModel: model !== null, isLan: lan !== null, room })),
    report: (fault) => note(`gateway: ${asLeydenError(fault).message}`),
  });
  const served = await listen(
    platform,
    app,
    lan?.listen ?? { host: args.requireText("host"), port: args.requireNumber("port") },
  );
  tellWhere(context, { url: served.url, key, lan, room, what: wanted?.folder });
  if (!stop.aborted) await new Promise((resolve) => stop.addEventListener("abort", resolve, { once: true }));
  await served.close(drainMs);
  await model?.engine.close();
  for (const other of Object.values(others)) await other.engine.close();
  await telemetry?.close();
  await store.close();
  return 0;
}
