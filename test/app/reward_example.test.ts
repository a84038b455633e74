// The reward function that the page begins with: what it says of its arguments, and what it pays.
import { expect, it } from "vitest";
import { dataset as calc } from "../../examples/calc/tasks.ts";
import { dataset as clerk } from "../../examples/lessons/clerk/tasks.ts";
import { rewardExample } from "../../src/app/page/reward_example.ts";
import { textsOf } from "../../src/app/page/texts.ts";
import { RewardSandbox } from "../../src/app/reward/reward_sandbox.ts";

it.each(["en", "ko"] as const)(
  "pays for the task's answer at the end of the agent's last reply, in %s",
  async (language) => {
    const sandbox = await RewardSandbox.open(() => performance.now());
    const source = rewardExample(textsOf(language));
    expect(sandbox.read(source)).toEqual({ value: 1 });
    for (const { train } of [calc, clerk]) {
      const task = train(1).at(0);
      const paid = (message: string | null) =>
        sandbox.judge(source, JSON.stringify({ task, message, calls: [], exitCode: 0 }));
      expect(paid(`7 and then ${task.hidden.answer}`)).toEqual({ value: 1 });
      expect(paid(`${task.hidden.answer} and then 7000`)).toEqual({ value: 0 });
      expect(paid("no number")).toEqual({ value: 0 });
      expect(paid(null)).toEqual({ value: 0 });
    }
  },
);

it("tells that it is given the last reply, not what the agent printed", () => {
  expect(rewardExample(textsOf("en"))).toMatch(/^\/\/ message: the agent's last reply, null without one; /);
  expect(rewardExample(textsOf("ko"))).toMatch(/^\/\/ message: 에이전트의 마지막 답\(없으면 null\), /);
});
