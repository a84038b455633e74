import { type Harness, trialAnswer, trialCommand, trialReading } from "./harness.ts";

const settings = {
  telemetry: { enabled: false },
  privacy: { usageStatisticsEnabled: false },
  general: { disableAutoUpdate: true, disableUpdateNag: true, enableAutoUpdate: false },
};

/** Qwen Code, over OpenAI Chat Completions. */
export const qwenCode: Harness = {
  name: "qwen-code",
  package: "@qwen-code/qwen-code",
  program: "qwen",
  args: ["--auth-type", "openai", "--yolo", "-p", "{prompt}"],
  env: { OPENAI_BASE_URL: "{openai_url}", OPENAI_API_KEY: "{key}", OPENAI_MODEL: "{model}" },
  files: { ".qwen/settings.json": JSON.stringify(settings) },
  trial: [
    trialCommand("run_shell_command", { command: "echo hi", is_background: false }),
    trialReading("read_file", { file_path: "{workspace}/README.md" }),
    trialAnswer,
  ],
  sideCalls: 0,
};
