import type { Say } from "./texts.ts";

/** A reward function to begin with: the last number of the agent's last reply, compared with the task's answer. */
export function rewardExample(say: Say): string {
  return `// ${say("run.rewardExample")}
({ message, task }) => {
  const numbers = message?.match(/-?\\d+(\\.\\d+)?/g) ?? [];
  return Number(numbers.at(-1)) === Number(task.hidden.answer) ? 1 : 0;
}
`;
}
