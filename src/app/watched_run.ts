import { hex } from "../core/clock.ts";
import { RunView } from "../experiment/run_view.ts";
import type { ExperimentConfig } from "../schema/experiment.ts";
import type { HostPlatform } from "../schema/platform.ts";
import { pageFiles } from "./page_build/page_files.ts";
import type { RunRequest } from "./run_request.ts";
import { RunSteering } from "./run_steering.ts";

/** A run that people watch and steer in a browser. */
export interface WatchedRun {
  readonly config: ExperimentConfig;
  readonly configFolder: string;
  readonly runFolder: string;
  say(line: string): void;
  /** Stops the program whose run it is: the run was stopped in a page. */
  stop(): void;
}

/** How long a page that follows the run has to learn how it ended: two questions, and its rest between them. */
const farewellMs = 1_500;

/** What a run is asked for beyond training: the studio at its gateway's address, which is said once it is there. */
export function watchedRun(
  platform: HostPlatform,
  { config, configFolder, runFolder, say, stop }: WatchedRun,
): Required<Pick<RunRequest, "key" | "steering" | "gatewayParts" | "served" | "farewell">> {
  const { files, entropy, runtime, clock } = platform;
  const key = hex(entropy.bytes(24));
  const steering = new RunSteering({ runtime, experiment: configFolder, config });
  steering.signal.addEventListener("abort", () => stop());
  const name = runFolder.split(/[/\\]/).findLast((part) => part !== "") ?? runFolder;
  return {
    key,
    steering,
    gatewayParts: (store, _engine, tokenBytes) => ({
      control: steering,
      studio: new RunView({ store, files, runFolder, name, config, tokenBytes }),
      page: pageFiles(platform, { kind: "run", needsKey: true, room: false }),
    }),
    served: (url) => say(`Studio: ${studioAddress(url, key)}`),
    farewell: async () => {
      if (steering.wasWatched) await clock.sleep(farewellMs);
    },
  };
}

/** Where a gateway's studio opens; the key stands where no server sees it. */
export function studioAddress(url: string, key: string): string {
  return `${url}/studio/${key === "" ? "" : `#key=${key}`}`;
}
