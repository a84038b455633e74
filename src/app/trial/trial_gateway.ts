import { createApp } from "../../../gateway/app.ts";
import type { ServedModel } from "../../../gateway/deps.ts";
import { hex } from "../../core/clock.ts";
import { asLeydenError, LeydenError } from "../../core/errors.ts";
import type { RolloutTree } from "../../rl/trie/rollout_tree.ts";
import type { HostPlatform } from "../../schema/platform.ts";
import type { Store } from "../../schema/store.ts";
import { listen } from "../listen.ts";
import { openStore } from "../open_store.ts";
import type { ListedCall } from "./trial_report.ts";

/** A gateway that a trial's agent is pointed at, and its admin's key. */
export interface TrialGateway {
  readonly url: string;
  readonly key: string;
}

/** A gateway of the trial's own. */
export interface OwnTrialGateway extends TrialGateway {
  readonly store: Store;
  close(): Promise<void>;
}

/** Replies on their way are not waited for: the agent has ended. */
const drainMs = 1_000;

/** Serves a model on a free port of this machine. `store`: a file, or "memory". @throws LeydenError */
export async function openTrialGateway(
  platform: HostPlatform,
  { model, store: place, say }: { model: ServedModel; store: string; say(line: string): void },
): Promise<OwnTrialGateway> {
  const key = hex(platform.entropy.bytes(24));
  const store = await openStore(platform, place);
  const app = createApp({
    store,
    model,
    clock: platform.clock,
    entropy: platform.entropy,
    config: { key },
    report: (fault) => say(`gateway: ${asLeydenError(fault).message}`),
  });
  const served = await listen(platform, app, { host: "127.0.0.1", port: 0 });
  const close = async (): Promise<void> => {
    await served.close(drainMs);
    await model.engine.close();
    await store.close();
  };
  return { url: served.url, key, store, close };
}

async function ask(gateway: TrialGateway, method: string, path: string, body?: unknown): Promise<unknown> {
  const url = `${gateway.url.replace(/\/+$/, "")}${path}`;
  const headers = {
    "content-type": "application/json",
    ...(gateway.key === "" ? {} : { authorization: `Bearer ${gateway.key}` }),
  };
  let response: Response;
  try {
    response = await fetch(url, { method, headers, body: JSON.stringify(body) });
  } catch (cause) {
    const advice = { do: "Check --url, and that the gateway runs.", cause };
    throw new LeydenError("gateway_unreachable", `${method} ${url} got no answer.`, advice, 3);
  }
  const text = await response.text();
  if (response.ok) return text === "" ? null : JSON.parse(text);
  throw new LeydenError("gateway_refused", `${method} ${path} was answered ${response.status}: ${text.slice(0, 300)}`, {
    do: response.status === 401 ? "Pass the gateway's key as --key." : "Check that --url is a gateway of Leyden.",
  });
}

/** Creates the rollout that an agent's calls will belong to. @throws LeydenError "gateway_unreachable" | "gateway_refused" */
export async function createTrialRollout(gateway: TrialGateway, rolloutId: string, input: unknown): Promise<void> {
  await ask(gateway, "POST", "/api/rollouts", [{ rollout_id: rolloutId, input }]);
}

/** A key that opens an attempt alone. @throws LeydenError as above */
export async function trialKey(gateway: TrialGateway, rolloutId: string, attemptId: string): Promise<string> {
  const path = `/api/rollouts/${encodeURIComponent(rolloutId)}/attempt/${encodeURIComponent(attemptId)}/key`;
  return ((await ask(gateway, "POST", path)) as { key: string }).key;
}

/** What the gateway recorded of a rollout. @throws LeydenError as above */
export async function readTrial(
  gateway: TrialGateway,
  rolloutId: string,
): Promise<{ tree: RolloutTree; calls: ListedCall[]; failures: { code: string; http_status: number }[] }> {
  const path = `/api/rollouts/${encodeURIComponent(rolloutId)}`;
  const tree = (await ask(gateway, "GET", `${path}/tree`)) as RolloutTree;
  const listed = (await ask(gateway, "GET", `${path}/calls`)) as Omit<Awaited<ReturnType<typeof readTrial>>, "tree">;
  return { tree, calls: listed.calls, failures: listed.failures };
}

/** Notes how the rollout ended. @throws LeydenError as above */
export async function endTrialRollout(gateway: TrialGateway, rolloutId: string, succeeded: boolean): Promise<void> {
  const path = `/api/rollouts/${encodeURIComponent(rolloutId)}`;
  await ask(gateway, "PATCH", path, { status: { state: "running", last_attempt_id: "0" } });
  await ask(gateway, "PATCH", path, { status: { state: succeeded ? "succeeded" : "failed" } });
}
