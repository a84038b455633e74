import { type Harness, trialAnswer, trialCommand, trialReading } from "./harness.ts";

const settings = {
  security: { auth: { selectedType: "gemini-api-key" } },
  privacy: { usageStatisticsEnabled: false },
  telemetry: { enabled: false },
  general: { enableAutoUpdate: false, enableAutoUpdateNotification: false },
};

/** Gemini CLI, over Gemini's generateContent. */
export const geminiCli: Harness = {
  name: "gemini-cli",
  package: "@google/gemini-cli",
  program: "gemini",
  args: ["--yolo", "--skip-trust", "-m", "{model}", "-p", "{prompt}"],
  env: { GOOGLE_GEMINI_BASE_URL: "{native_url}", GEMINI_API_KEY: "{key}", GEMINI_CLI_TRUST_WORKSPACE: "true" },
  files: { ".gemini/settings.json": JSON.stringify(settings) },
  trial: [
    trialCommand("run_shell_command", { command: "echo hi" }),
    trialReading("read_file", { file_path: "{workspace}/README.md" }),
    trialAnswer,
  ],
  sideCalls: 0,
};
