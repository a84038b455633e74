import { platform } from "#platform";
import { PortClient, portRequest } from "../../../gateway/port/port_client.ts";
import { asLeydenError, EnvironmentError, LeydenError } from "../../core/errors.ts";
import type { PageAssets } from "../../schema/page_assets.ts";
import type { WorkerHandle } from "../../schema/platform.ts";
import type { RunFault, RunStatus } from "../../schema/run_control.ts";
import { linkServiceWorker, type ServiceWorkerLink } from "./service_worker_link.ts";
import type {
  AgentWay,
  ArrivingCheckpoint,
  ArrivingModel,
  ArrivingRun,
  KeptThings,
  TabArchive,
  TabAsk,
  TabCalls,
  TabFile,
  TabOpen,
  TabReport,
} from "./tab_messages.ts";
import { innerGatewayUrl } from "./tab_places.ts";

/** How many lines for people are kept. */
const keptLines = 200;

/** What a tab is opened with. */
export interface TabOptions {
  /** Where the files that come with the page are. */
  readonly assets: PageAssets;
  /** The service worker's script; null where there is none. */
  readonly serviceWorker: URL | null;
  /** How agents reach the gateway: by default their fetch is answered, which works everywhere and is the shorter way. */
  readonly agents?: AgentWay;
  /** Go on with a run that a reload has cut off; default true. */
  readonly continues?: boolean;
}

/** What the page is told of. */
export type TabEvent =
  | { readonly kind: "status"; readonly status: RunStatus }
  | { readonly kind: "said"; readonly line: string }
  /** A run was at work when the tab was frozen or its computer slept; it goes on now. */
  | { readonly kind: "stood_still"; readonly ms: number }
  /** What a person brought is kept. */
  | { readonly kind: "imported" };

/** The whole system in this tab, seen from its page. */
export interface TabHost {
  /** The run's last known status. */
  readonly status: RunStatus;
  /** The gateway's admin key, for programs that the person lets in. */
  readonly key: string;
  /** Address below which the service worker answers for the gateway, once it does; null: there is none. */
  readonly gatewayUrl: Promise<string | null>;
  /** What was said to people so far, the last lines of it. */
  readonly lines: readonly string[];
  /** Asks the gateway, with the admin key where the request names none; `path` begins with "/". */
  fetch(path: string, init?: RequestInit): Promise<Response>;
  /** Calls `told` for every change of the run and every line for people, until the returned function is called. */
  onEvent(told: (event: TabEvent) => void): () => void;
  /** What a model folder would replace under its name. @throws FormatError when it is none, or cannot have that name */
  arrivingModel(name: string, files: readonly TabFile[]): Promise<ArrivingModel>;
  /**
   * Keeps a model folder that a person brought, over what has its name; returns the path that `model.path` takes.
   * @throws FormatError; LeydenError "run_phase" while a run uses what it would replace
   */
  importModel(name: string, files: readonly TabFile[]): Promise<string>;
  /** True when the run that is shown has a checkpoint. */
  hasCheckpoint(): Promise<boolean>;
  /** The newest checkpoint of the run that is shown, a Hugging Face folder. @throws FormatError "no_checkpoint" */
  exportCheckpoint(): Promise<TabArchive>;
  /** What a checkpoint that a tab exported tells. @throws FormatError when it is none */
  arrivingCheckpoint(zip: Uint8Array): Promise<ArrivingCheckpoint>;
  /** Puts a checkpoint that a tab exported in its run's place, to be resumed. @throws FormatError */
  importCheckpoint(zip: Uint8Array): Promise<void>;
  /** A run's whole folder, by default of the one shown, as `train --resume` takes it. @throws LeydenError "run_phase" */
  exportRun(experiment?: string): Promise<TabArchive>;
  /** What a run's folder tells, or the zip archive of one. @throws FormatError "run_folder" when it is none */
  arrivingRun(files: readonly TabFile[]): Promise<ArrivingRun>;
  /** Puts a run's folder, such as `leyden train` writes it, in an experiment's place, to be resumed. @throws FormatError */
  importRun(experiment: string, files: readonly TabFile[]): Promise<void>;
  /** Models that people brought, and runs. */
  kept(): Promise<KeptThings>;
  /** Deletes a model that a person brought. @throws LeydenError "run_phase" while a run uses it */
  deleteModel(name: string): Promise<void>;
  /** Deletes an experiment's run with its records. @throws LeydenError "run_phase" while it is at work */
  deleteRun(experiment: string): Promise<void>;
  /** Ends everything; a run at work goes on at the next opening. */
  close(): Promise<void>;
}

/**
 * Starts the host of this tab.
 * @throws EnvironmentError "second_tab" when another tab has it; LeydenError whatever else it lacks
 */
export async function openTab(options: TabOptions): Promise<TabHost> {
  const worker = platform.spawnWorker(new URL("./tab_worker.ts", import.meta.url));
  const page = new TabPage(worker);
  try {
    await page.open(options);
    return page;
  } catch (thrown) {
    page.fail(asLeydenError(thrown));
    await worker.terminate();
    throw thrown;
  }
}

function errorOf({ code, message, do: advice }: RunFault): LeydenError {
  return new LeydenError(code, message, { do: advice });
}

class TabPage implements TabHost {
  key = "";
  gatewayUrl: Promise<string | null> = Promise.resolve(null);
  readonly lines: string[] = [];
  private current: RunStatus | null = null;
  private readonly worker: WorkerHandle;
  private readonly told = new Set<(event: TabEvent) => void>();
  private readonly waiting = new Map<number, { resolve(value: unknown): void; reject(error: Error): void }>();
  private ready: { resolve(): void; reject(error: Error): void } | null = null;
  private link: ServiceWorkerLink | null = null;
  private client: PortClient | null = null;
  private asked = 0;

  constructor(worker: WorkerHandle) {
    this.worker = worker;
    worker.onMessage((message) => this.receive(message as TabReport));
    worker.onError((error) => this.fail(error));
  }

  get status(): RunStatus {
    if (this.current === null)
      throw new EnvironmentError("tab_closed", "The tab is not open.", { do: "Reload the page." });
    return this.current;
  }

  /**
   * Opens the host. The service worker is nobody's way to begin with: it is registered beside everything else, once this
   * tab has the host, and before that only where agents go through it.
   */
  async open({ assets, serviceWorker, agents = "fetch", continues = true }: TabOptions): Promise<void> {
    const { port1, port2 } = new MessageChannel();
    this.client = new PortClient(port1);
    const opened = new Promise<void>((resolve, reject) => {
      this.ready = { resolve, reject };
    });
    if (agents === "service-worker") this.gatewayUrl = this.linked(serviceWorker);
    const gatewayUrl = await this.gatewayUrl;
    const open: TabOpen = { kind: "tab_open", assets, port: port2, continues, gatewayUrl, agents };
    this.worker.post(open, [port2]);
    await opened;
    if (agents !== "service-worker") this.gatewayUrl = this.linked(serviceWorker);
  }

  /** The gateway's address behind the service worker, once it answers there; null, and a line that says why, without. */
  private async linked(script: URL | null): Promise<string | null> {
    if (script === null) return null;
    try {
      const link = await linkServiceWorker(script, this.givePort);
      if (this.client === null) link.close();
      else this.link = link;
      return link.gatewayUrl;
    } catch (thrown) {
      this.say(asLeydenError(thrown).message);
      return null;
    }
  }

  /** Gives the host another way to be asked. */
  private readonly givePort = (port: MessagePort): void => {
    this.worker.post({ kind: "tab_port", port } satisfies TabAsk, [port]);
  };

  async fetch(path: string, init: RequestInit = {}): Promise<Response> {
    const request = new Request(new URL(path, innerGatewayUrl), init);
    if (!request.headers.has("authorization")) request.headers.set("authorization", `Bearer ${this.key}`);
    const { client } = this;
    if (client === null) throw new TypeError("The tab is closed.");
    return client.fetch(await portRequest(request), request.signal);
  }

  onEvent(told: (event: TabEvent) => void): () => void {
    this.told.add(told);
    return () => this.told.delete(told);
  }

  arrivingModel(name: string, files: readonly TabFile[]): Promise<ArrivingModel> {
    return this.call("arrivingModel", name, files);
  }

  importModel(name: string, files: readonly TabFile[]): Promise<string> {
    return this.imported(this.call("importModel", name, files));
  }

  hasCheckpoint(): Promise<boolean> {
    return this.call("hasCheckpoint");
  }

  exportCheckpoint(): Promise<TabArchive> {
    return this.call("exportCheckpoint");
  }

  arrivingCheckpoint(zip: Uint8Array): Promise<ArrivingCheckpoint> {
    return this.call("arrivingCheckpoint", zip);
  }

  async importCheckpoint(zip: Uint8Array): Promise<void> {
    await this.imported(this.call("importCheckpoint", zip));
  }

  exportRun(experiment?: string): Promise<TabArchive> {
    return this.call("exportRun", experiment);
  }

  arrivingRun(files: readonly TabFile[]): Promise<ArrivingRun> {
    return this.call("arrivingRun", files);
  }

  async importRun(experiment: string, files: readonly TabFile[]): Promise<void> {
    await this.imported(this.call("importRun", experiment, files));
  }

  kept(): Promise<KeptThings> {
    return this.call("kept");
  }

  async deleteModel(name: string): Promise<void> {
    await this.call("deleteModel", name);
  }

  async deleteRun(experiment: string): Promise<void> {
    await this.call("deleteRun", experiment);
  }

  async close(): Promise<void> {
    this.link?.close();
    await this.call("close");
    this.fail(new EnvironmentError("tab_closed", "The tab was closed.", { do: "Reload the page." }));
    await this.worker.terminate();
  }

  private async imported<T>(work: Promise<T>): Promise<T> {
    const result = await work;
    this.tell({ kind: "imported" });
    return result;
  }

  private call<M extends keyof TabCalls>(method: M, ...args: TabCalls[M]["args"]): Promise<TabCalls[M]["result"]> {
    return new Promise((resolve, reject) => {
      const id = ++this.asked;
      this.waiting.set(id, { resolve: (value) => resolve(value as TabCalls[M]["result"]), reject });
      this.worker.post({ kind: "tab_call", id, method, args } satisfies TabAsk);
    });
  }

  private receive(report: TabReport): void {
    if (report.kind === "tab_ready") {
      this.key = report.key;
      this.current = report.status;
      this.ready?.resolve();
    } else if (report.kind === "tab_failed") {
      this.ready?.reject(errorOf(report.error));
    } else if (report.kind === "tab_status") {
      this.current = report.status;
      this.tell({ kind: "status", status: report.status });
    } else if (report.kind === "tab_said") {
      this.say(report.line);
    } else if (report.kind === "tab_stood_still") {
      this.tell({ kind: "stood_still", ms: report.ms });
    } else {
      const call = this.waiting.get(report.id);
      this.waiting.delete(report.id);
      if (report.kind === "tab_result") call?.resolve(report.value);
      else call?.reject(errorOf(report.error));
    }
  }

  /** The host is gone: nothing that waits for it is answered any more. */
  fail(error: Error): void {
    this.ready?.reject(error);
    for (const { reject } of this.waiting.values()) reject(error);
    this.waiting.clear();
    this.client?.close(new TypeError(error.message));
    this.client = null;
    this.link?.close();
    this.say(error.message);
  }

  private say(line: string): void {
    this.lines.push(line);
    if (this.lines.length > keptLines) this.lines.shift();
    this.tell({ kind: "said", line });
  }

  private tell(event: TabEvent): void {
    for (const told of [...this.told]) told(event);
  }
}
