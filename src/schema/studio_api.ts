/** What the studio's routes answer, and what a report of a run holds: plain JSON. */
import { z } from "zod";
import { type BreakReason, type ChatMessage, chatMessageSchema } from "./chat.ts";
import type { DeviceTimeline } from "./device_timeline.ts";
import type { ExperimentConfig } from "./experiment.ts";
import type { RolloutSummary, SummaryPage } from "./rollout_summary.ts";
import type { RunStatus } from "./run_control.ts";
import type { CallFailure, Delivery } from "./store.ts";
import type { GroupCredit, MetricsRecord, RunName } from "./studio.ts";
import type { RolloutEvent } from "./wire.ts";

/** `GET /studio/api/run`. */
export interface StudioRun {
  name: string;
  config: ExperimentConfig | null;
  /** Null where nobody steers the run. */
  status: RunStatus | null;
  /** What may be asked of it. */
  can: { control: boolean; start: boolean; fork: boolean; report: boolean };
  /** Names of the models that answer. */
  models: string[];
}

/** One line of the rollout table, with the update that trained its group. */
export interface StudioLine extends RolloutSummary {
  update: number | null;
}

/** `GET /studio/api/rollouts`. */
export interface StudioPage extends Omit<SummaryPage, "rows"> {
  rows: StudioLine[];
  offset: number;
}

/** Tokens as ids and texts, one length; the texts joined are the text. */
export interface StudioTokens {
  ids: number[];
  texts: string[];
}

/** What a call drew. */
export interface StudioReply extends StudioTokens {
  /** Empty when none were recorded. */
  logprobs: number[];
  versions: number[];
}

/** A call without its tokens. */
export interface StudioCallLine {
  id: string;
  rollout: string;
  attempt: string;
  /** The call it continues verbatim, and how many tokens it shares with it. */
  parent: string | null;
  prefix: number;
  lineage: number;
  break: BreakReason | null;
  side: string | null;
  dialect: string;
  policy: string;
  own: boolean;
  endpoint: string;
  agent: string;
  promptTokens: number;
  replyTokens: number;
  /** Mean of the reply's log-probabilities; null without any. */
  meanLogprob: number | null;
  versions: [number, number] | null;
  finishReason: string | null;
  delivery: Delivery;
  truncated: boolean;
  constrained: boolean;
  sampling: Record<string, unknown>;
  overridden: Record<string, unknown>;
  httpStatus: number;
  retryCount: number;
  latencyMs: number;
  /** Seconds since the epoch. */
  timestamp: number;
  /** The beginning of what was said, tool calls included. */
  preview: string;
}

/** A call with what it said. */
export interface StudioCall extends StudioCallLine {
  /** Prompt tokens from position `from` on: those after the shared prefix, or all of them. */
  from: number;
  prompt: StudioTokens;
  reply: StudioReply;
  /** The conversation as the harness sent it, in common terms. */
  messages: ChatMessage[];
  /** The reply as the harness got it; null when it got none. */
  delivered: ChatMessage | null;
}

/** The prefix tree of a rollout's calls; parents stand before their children. */
export interface StudioTree {
  nodes: { id: number; parent: number | null; start: number; length: number }[];
  /** Where each call's prompt and reply end, and where its reply begins. */
  calls: { call: string; end: number | null; node: number | null; offset: number; length: number }[];
}

/** `GET /studio/api/rollouts/:id`. */
export interface StudioRollout {
  line: StudioLine;
  input: unknown;
  metadata: Record<string, unknown>;
  calls: (StudioCallLine | StudioCall)[];
  failures: CallFailure[];
  /** Posted events, rewards among them. */
  events: RolloutEvent[];
  tree: StudioTree;
  forks: StudioFork[];
}

/** `GET /studio/api/rollouts/:id/calls/:call/score`: what the present weights say of a reply. */
export interface StudioScore {
  version: number;
  logprobs: number[];
  entropies: number[];
}

/** `POST …/fork`: how a call is asked again. One of `messages`, `keep`, `ids`, or none for the same prompt. */
export interface ForkRequest {
  /** The conversation with changes; what is unchanged from the beginning keeps its tokens. */
  messages?: ChatMessage[];
  /** So many tokens of prompt and reply are kept … */
  keep?: number;
  /** … and this text is put after them. */
  insert?: string;
  /** The prompt's tokens themselves. */
  ids?: number[];
  /** Default: the call's own, else 1. */
  temperature?: number;
  /** Default 256. */
  maxTokens?: number;
}

/** Unknown keys are refused, and so are changes of more than one kind. */
export const forkRequestSchema: z.ZodType<ForkRequest> = z
  .strictObject({
    messages: z.array(chatMessageSchema).min(1).optional(),
    keep: z.int().min(0).optional(),
    insert: z.string().optional(),
    ids: z
      .array(
        z
          .int()
          .min(0)
          .max(2 ** 31 - 1),
      )
      .min(1)
      .optional(),
    temperature: z.number().min(0).optional(),
    maxTokens: z.int().min(1).optional(),
  })
  .refine(
    ({ messages, keep, insert, ids }) => [messages, keep ?? insert, ids].filter((c) => c !== undefined).length < 2,
    {
      message: "Give messages, ids, or keep and insert",
    },
  );

/** A call asked again: kept beside the record, never trained. */
export interface StudioFork {
  id: string;
  rollout: string;
  call: string;
  kind: "messages" | "tokens" | "same";
  /** Seconds since the epoch. */
  at: number;
  temperature: number;
  promptTokens: number;
  /** Tokens of the recorded prompt and reply that the new prompt begins with, and those after them. */
  kept: number;
  changed: StudioTokens;
  reply: StudioReply;
  /** The reply as a harness would get it. */
  message: ChatMessage;
  finishReason: string;
}

/** `POST /studio/api/rollouts/:id/reward`. */
export interface StudioRegrade {
  before: GroupCredit;
  after: GroupCredit;
}

/** Its body: the reward to look at in place of the recorded one. */
export const regradeRequestSchema: z.ZodType<{ reward: number }> = z.strictObject({ reward: z.number() });

/** `GET /studio/api/changes`. */
export interface StudioChanges {
  cursor: number;
  /** Rollouts that something happened to, each once. */
  rollouts: string[];
  /** True when an update was finished. */
  updated: boolean;
  status: RunStatus | null;
}

/** A whole run in one file: what the routes would answer. Details are there for some rollouts only. */
export interface StudioSnapshot {
  format: "leyden-studio-1";
  /** Seconds since the epoch. */
  at: number;
  run: StudioRun;
  metrics: MetricsRecord[];
  timeline: DeviceTimeline;
  rollouts: StudioLine[];
  details: Record<string, StudioRollout>;
  groups: Record<string, GroupCredit>;
  runs: RunName[];
}
