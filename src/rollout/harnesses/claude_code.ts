import { type Harness, trialAnswer, trialCommand, trialReading } from "./harness.ts";

/** Claude Code, over Anthropic Messages. */
export const claudeCode: Harness = {
  name: "claude-code",
  package: "@anthropic-ai/claude-code",
  program: "claude",
  args: ["-p", "{prompt}", "--dangerously-skip-permissions", "--output-format", "text"],
  env: {
    ANTHROPIC_BASE_URL: "{native_url}",
    ANTHROPIC_API_KEY: "{key}",
    ANTHROPIC_MODEL: "{model}",
    ANTHROPIC_SMALL_FAST_MODEL: "{model}",
    CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC: "1",
    DISABLE_AUTOUPDATER: "1",
    DISABLE_TELEMETRY: "1",
    DISABLE_ERROR_REPORTING: "1",
    // As root it skips permissions only where it is told that nothing can be harmed.
    IS_SANDBOX: "1",
  },
  files: {},
  trial: [
    trialCommand("Bash", { command: "echo hi", description: "Print hi" }),
    trialReading("Read", { file_path: "{workspace}/README.md" }),
    trialAnswer,
  ],
  sideCalls: 0,
};
