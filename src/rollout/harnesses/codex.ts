import { type Harness, trialAnswer, trialCommand, trialReading } from "./harness.ts";

const config = `model = "{model}"
model_provider = "gateway"
model_context_window = 100000
check_for_update_on_startup = false

[model_providers.gateway]
name = "gateway"
base_url = "{openai_url}"
env_key = "GATEWAY_KEY"
wire_api = "responses"

[analytics]
enabled = false

[features]
apps = false
plugins = false
`;

/** Codex, over OpenAI Responses. */
export const codex: Harness = {
  name: "codex",
  package: "@openai/codex",
  program: "codex",
  args: ["exec", "--skip-git-repo-check", "--dangerously-bypass-approvals-and-sandbox", "{prompt}"],
  env: { CODEX_HOME: "{home}/.codex", GATEWAY_KEY: "{key}" },
  files: { ".codex/config.toml": config },
  trial: [
    trialCommand("exec_command", { cmd: "echo hi" }),
    trialReading("exec_command", { cmd: "cat {workspace}/README.md" }),
    trialAnswer,
  ],
  sideCalls: 0,
};
