import { type Harness, trialAnswer, trialCommand, trialReading } from "./harness.ts";

const config = {
  $schema: "https://opencode.ai/config.json",
  provider: {
    gateway: {
      npm: "@ai-sdk/openai-compatible",
      name: "gateway",
      options: { baseURL: "{openai_url}", apiKey: "{key}" },
      models: { policy: { name: "policy", limit: { context: 100_000, output: 4096 } } },
    },
  },
  model: "gateway/policy",
  small_model: "gateway/policy",
  autoupdate: false,
  share: "disabled",
  permission: "allow",
};

/** opencode, over OpenAI Chat Completions; it asks for a title beside its first turn. */
export const opencode: Harness = {
  name: "opencode",
  package: "opencode-ai",
  program: "opencode",
  args: ["run", "{prompt}"],
  env: {
    OPENCODE_CONFIG_CONTENT: JSON.stringify(config),
    OPENCODE_DISABLE_AUTOUPDATE: "1",
    OPENCODE_DISABLE_MODELS_FETCH: "1",
    OPENCODE_DISABLE_LSP_DOWNLOAD: "1",
    OPENCODE_DISABLE_DEFAULT_PLUGINS: "1",
    XDG_CONFIG_HOME: "{home}/.config",
    XDG_DATA_HOME: "{home}/.local/share",
    XDG_STATE_HOME: "{home}/.local/state",
    XDG_CACHE_HOME: "{home}/.cache",
  },
  files: {},
  trial: [
    { text: "Saying hi", when: "title generator" },
    trialCommand("bash", { command: "echo hi", description: "Print hi" }),
    trialReading("read", { filePath: "{workspace}/README.md" }),
    trialAnswer,
  ],
  sideCalls: 1,
};
