/** What passes between the page and the host worker of its tab. */
import type { PageAssets } from "../../schema/page_assets.ts";
import type { RunFault, RunStatus } from "../../schema/run_control.ts";

/** How agents reach the gateway: their fetch is answered, or their requests go to the service worker. */
export type AgentWay = "fetch" | "service-worker";

/** To the worker, first: open the tab. */
export interface TabOpen {
  readonly kind: "tab_open";
  readonly assets: PageAssets;
  /** The page's way to the gateway. */
  readonly port: MessagePort;
  /** Go on with a run that a reload or a crash has cut off. */
  readonly continues: boolean;
  /** Address under which the service worker answers for the gateway; null: there is none. */
  readonly gatewayUrl: string | null;
  readonly agents: AgentWay;
}

/** A file of a folder, by its path in it. */
export interface TabFile {
  readonly path: string;
  readonly file: Blob;
}

/** A folder packed for people to keep. */
export interface TabArchive {
  /** Such as "calc_step_12.zip". */
  readonly name: string;
  readonly zip: Uint8Array;
}

/** What the files of a run tell. */
export interface RunFacts {
  /** Id of the experiment that it is a run of, by its configuration; null where that cannot be told. */
  readonly experiment: string | null;
  /** Updates finished, and how many there were to be. */
  readonly update: number;
  readonly updates: number;
}

/** A run that a person brings. */
export interface ArrivingRun extends RunFacts {
  /** Ids of the experiments of which a run is kept here: that one would be replaced. */
  readonly kept: readonly string[];
}

/** A model that a person brings. */
export interface ArrivingModel {
  /** One is kept under its name. */
  readonly replaces: boolean;
}

/** A checkpoint that a person brings, as far as its archive tells. */
export interface ArrivingCheckpoint {
  /** Id of the experiment in whose place it comes. */
  readonly experiment: string;
  /** Updates finished. */
  readonly update: number;
  /** A run is kept there. */
  readonly replaces: boolean;
}

/** A model that a person brought. */
export interface KeptModel {
  /** As its folder was called. */
  readonly name: string;
  /** What `model.path` takes. */
  readonly path: string;
  readonly sizeBytes: number;
  /** A run that uses it is at work. */
  readonly inUse: boolean;
}

/** A run that can be looked at and continued. */
export interface KeptRun {
  /** Id of its experiment. */
  readonly experiment: string;
  /** Updates finished; null where its checkpoints cannot be read. */
  readonly update: number | null;
  /** How many there were to be; null where its configuration cannot be read. */
  readonly updates: number | null;
  /** Its records are counted in. */
  readonly sizeBytes: number;
  /** It is at work, waits or ends: it cannot be deleted. */
  readonly inUse: boolean;
  /** Nothing is written to it now, so that it can be taken out whole. */
  readonly exportable: boolean;
}

/** What a tab keeps of what people brought and trained. */
export interface KeptThings {
  readonly models: readonly KeptModel[];
  readonly runs: readonly KeptRun[];
  /** False where it lasts no longer than the page. */
  readonly isDurable: boolean;
}

/** What the page asks of the worker beside HTTP, with what it answers. */
export interface TabCalls {
  arrivingModel: { args: readonly [name: string, files: readonly TabFile[]]; result: ArrivingModel };
  importModel: { args: readonly [name: string, files: readonly TabFile[]]; result: string };
  hasCheckpoint: { args: readonly []; result: boolean };
  exportCheckpoint: { args: readonly []; result: TabArchive };
  arrivingCheckpoint: { args: readonly [zip: Uint8Array]; result: ArrivingCheckpoint };
  importCheckpoint: { args: readonly [zip: Uint8Array]; result: null };
  exportRun: { args: readonly [experiment?: string]; result: TabArchive };
  arrivingRun: { args: readonly [files: readonly TabFile[]]; result: ArrivingRun };
  importRun: { args: readonly [experiment: string, files: readonly TabFile[]]; result: null };
  kept: { args: readonly []; result: KeptThings };
  deleteModel: { args: readonly [name: string]; result: null };
  deleteRun: { args: readonly [experiment: string]; result: null };
  close: { args: readonly []; result: null };
}

/** To the worker, after `tab_open`. */
export type TabAsk =
  | {
      readonly kind: "tab_call";
      readonly id: number;
      readonly method: keyof TabCalls;
      readonly args: readonly unknown[];
    }
  /** Another way to the gateway, for the service worker. */
  | { readonly kind: "tab_port"; readonly port: MessagePort };

/** To the page. */
export type TabReport =
  | { readonly kind: "tab_ready"; readonly key: string; readonly status: RunStatus }
  | { readonly kind: "tab_failed"; readonly error: RunFault }
  | { readonly kind: "tab_status"; readonly status: RunStatus }
  | { readonly kind: "tab_said"; readonly line: string }
  /** A run was at work when the tab was frozen or its computer slept; it goes on now. */
  | { readonly kind: "tab_stood_still"; readonly ms: number }
  | { readonly kind: "tab_result"; readonly id: number; readonly value: unknown }
  | { readonly kind: "tab_refused"; readonly id: number; readonly error: RunFault };
