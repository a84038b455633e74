import { type Harness, trialAnswer, trialCommand, trialReading } from "./harness.ts";

const models = {
  providers: {
    gateway: {
      baseUrl: "{openai_url}",
      api: "openai-completions",
      apiKey: "{key}",
      models: [
        {
          id: "{model}",
          name: "policy",
          reasoning: false,
          input: ["text"],
          cost: { input: 0, output: 0, cacheRead: 0, cacheWrite: 0 },
          contextWindow: 100_000,
          maxTokens: 4096,
        },
      ],
    },
  },
};

/** pi, over OpenAI Chat Completions. */
export const pi: Harness = {
  name: "pi",
  package: "@earendil-works/pi-coding-agent",
  program: "pi",
  args: ["-p", "{prompt}", "--provider", "gateway", "--model", "{model}"],
  env: { PI_CODING_AGENT_DIR: "{home}/.pi/agent", PI_OFFLINE: "1", PI_SKIP_VERSION_CHECK: "1" },
  files: { ".pi/agent/models.json": JSON.stringify(models) },
  trial: [
    trialCommand("bash", { command: "echo hi" }),
    trialReading("read", { path: "{workspace}/README.md" }),
    trialAnswer,
  ],
  sideCalls: 0,
};
