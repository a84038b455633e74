import { platform } from "#platform";
import { servePort } from "../../../gateway/serve_port.ts";
import { hex } from "../../core/clock.ts";
import { asLeydenError } from "../../core/errors.ts";
import { awakeClock } from "../../platform/awake_clock.ts";
import { openWasmSqlite } from "../../platform/wasm_sqlite.ts";
import type { AgentStart } from "../../schema/agent_worker.ts";
import type { PageAssets } from "../../schema/page_assets.ts";
import { isAtWork } from "../../schema/run_control.ts";
import { KeptStorage } from "./kept_storage.ts";
import { RunTransfer } from "./run_transfer.ts";
import { ServedGateway } from "./served_gateway.ts";
import { TabControl } from "./tab_control.ts";
import { takeTabLock } from "./tab_lock.ts";
import type { TabAsk, TabCalls, TabOpen, TabReport } from "./tab_messages.ts";
import { tabPageFiles } from "./tab_page_files.ts";
import type { TabParts } from "./tab_parts.ts";
import { tabSwap } from "./tab_run.ts";

type Calls = { [M in keyof TabCalls]: (...args: TabCalls[M]["args"]) => Promise<TabCalls[M]["result"]> };

const port = platform.workerPort();
const send = (report: TabReport): void => port.post(report);
/** Whatever asks, the gateway in use answers. */
const served = new ServedGateway(platform.clock);
let calls: Promise<Calls> | null = null;

port.onMessage((message) => {
  const asked = message as TabOpen | TabAsk;
  if (asked.kind === "tab_port") servePort(served, asked.port);
  else if (asked.kind === "tab_open") calls ??= open(asked);
  else void answer(asked.id, asked.method, asked.args);
});

/** A script that comes with the page. */
function scriptAt(assets: PageAssets, path: string): AgentStart["script"] {
  if (assets.kind === "folder") return new URL(path, assets.base).href;
  const blob = assets.files[path];
  return new Blob(blob === undefined ? [] : [blob], { type: "text/javascript" });
}

async function open({ assets, port: pagePort, continues, agents, gatewayUrl }: TabOpen): Promise<Calls> {
  try {
    await takeTabLock();
    const { clock, entropy } = platform;
    const key = hex(entropy.bytes(24));
    const parts: TabParts = {
      platform,
      sqlite: await openWasmSqlite((ms) => clock.sleep(ms)),
      assets,
      page: tabPageFiles(assets),
      agents,
      gatewayUrl,
      key,
      scriptAt: (path) => scriptAt(assets, path),
      use: (app) => served.use(app),
      say: (line) => send({ kind: "tab_said", line }),
    };
    const control = new TabControl(parts);
    control.onChange(() => send({ kind: "tab_status", status: control.status() }));
    awakeClock.onStandstill((ms) => {
      if (isAtWork(control.status().phase)) send({ kind: "tab_stood_still", ms });
    });
    await control.open();
    servePort(served, pagePort);
    send({ kind: "tab_ready", key, status: control.status() });
    if (continues) void control.goOn();
    const { sqlite } = parts;
    const { files } = parts.platform;
    const storage = new KeptStorage(files, sqlite, control);
    const transfer = new RunTransfer(files, sqlite, control, tabSwap(parts), () => storage.list());
    return callsOf(control, transfer, storage);
  } catch (thrown) {
    send({ kind: "tab_failed", error: asLeydenError(thrown).toJSON() });
    throw thrown;
  }
}

const nothing = async (work: Promise<void>): Promise<null> => {
  await work;
  return null;
};

function callsOf(control: TabControl, transfer: RunTransfer, storage: KeptStorage): Calls {
  return {
    arrivingModel: (name, files) => transfer.arrivingModel(name, files),
    importModel: (name, files) => transfer.importModel(name, files),
    hasCheckpoint: () => transfer.hasCheckpoint(),
    exportCheckpoint: () => transfer.exportCheckpoint(),
    arrivingCheckpoint: (zip) => transfer.arrivingCheckpoint(zip),
    importCheckpoint: (zip) => nothing(transfer.importCheckpoint(zip)),
    exportRun: (experiment) => transfer.exportRun(experiment),
    arrivingRun: (files) => transfer.arrivingRun(files),
    importRun: (experiment, files) => nothing(transfer.importRun(experiment, files)),
    kept: () => storage.list(),
    deleteModel: (name) => nothing(storage.deleteModel(name)),
    deleteRun: (experiment) => nothing(storage.deleteRun(experiment)),
    close: () => nothing(control.close()),
  };
}

async function answer(id: number, method: keyof TabCalls, args: readonly unknown[]): Promise<void> {
  try {
    const call = (await calls)?.[method] as ((...args: readonly unknown[]) => Promise<unknown>) | undefined;
    send({ kind: "tab_result", id, value: await call?.(...args) });
  } catch (thrown) {
    send({ kind: "tab_refused", id, error: asLeydenError(thrown).toJSON() });
  }
}
