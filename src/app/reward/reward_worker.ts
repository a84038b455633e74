import { platform } from "#platform";
import { type RewardAnswer, RewardSandbox } from "./reward_sandbox.ts";

/** To the worker: read a text, or judge with it what came as JSON. Answered in turn, by a RewardAnswer. */
export interface RewardQuestion {
  readonly source: string;
  readonly input?: string;
}

const port = platform.workerPort();
const sandbox = RewardSandbox.open(platform.clock.monotonic);

port.onMessage((message) => {
  const { source, input } = message as RewardQuestion;
  void sandbox.then((opened) => {
    const answer: RewardAnswer = input === undefined ? opened.read(source) : opened.judge(source, input);
    port.post(answer);
  });
});
