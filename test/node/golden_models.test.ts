// Every golden model, every check, within the stated tolerances.
import { fileURLToPath } from "node:url";
import { afterAll, expect, it } from "vitest";
import { runGoldenItem } from "../../src/cli/golden_items.ts";
import type { Device } from "../../src/gpu/device.ts";
import { platform } from "../../src/platform/node.ts";
import { openTestDevice } from "../runtime/gpu.ts";
import { itShared } from "../shared.ts";

const supported = ["llama-untied", "llama-tied", "llama3-rope", "qwen2", "qwen3", "gemma"];
const committed = fileURLToPath(new URL("../golden/models/llama-tied", import.meta.url));
let opened: Promise<Device> | undefined;

function device(): Promise<Device> {
  opened ??= openTestDevice();
  return opened;
}

afterAll(async () => (await opened)?.close());

const ground = { files: platform.files, clock: platform.clock, device };

const everyCheck = [
  "n_params",
  "logits",
  "final_hidden_last_token",
  "layer_trace",
  "logprobs",
  "entropies",
  "ppo.ratio",
  "ppo.n_clipped",
  "ppo.loss_sum",
  "ppo.grads",
  "ppo.grad_norm",
  "full_loss.loss",
  "full_loss.pg_mean",
  "full_loss.k3_mean",
  "full_loss.entropy_mean",
  "full_loss.grads",
  "full_loss.grad_norm",
  "sft.loss",
  "sft.grads",
  "sft.grad_norm",
  "greedy.output",
  "greedy.margins",
  "greedy.logprobs",
  "adamw.loss_per_step",
  "adamw.grad_norm_per_step",
  "adamw.params_after",
];

async function expectAllPass(path: string): Promise<void> {
  const rows = await runGoldenItem(ground, { kind: "model", path, file: "model" });
  expect(rows.filter((row) => row.pass !== true)).toEqual([]);
  expect(rows.map((row) => row.check)).toEqual(everyCheck);
}

it("golden model that the repository holds", () => expectAllPass(committed));

for (const name of supported) itShared(`golden model ${name}`, `golden/models/${name}`, expectAllPass);

itShared("golden model of a family that is not supported", "golden/models/qwen3_5", async (path) => {
  const rows = await runGoldenItem(ground, { kind: "model", path, file: "qwen3_5" });
  expect(rows).toHaveLength(1);
  expect(rows[0]).toMatchObject({
    check: "model",
    pass: null,
    note: 'Models of type "qwen3_5_text" are not supported.',
  });
});
