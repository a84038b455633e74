import { createApp, type GatewayApp } from "../../../gateway/app.ts";
import { ReplyScript } from "../../../gateway/calls/reply_script.ts";
import { hex } from "../../core/clock.ts";
import { asLeydenError } from "../../core/errors.ts";
import type { Engine } from "../../schema/engine.ts";
import { baseAdapter } from "../../schema/lora.ts";
import type { Platform } from "../../schema/platform.ts";
import type { Store } from "../../schema/store.ts";
import { adapterEngine } from "../adapter_engine.ts";
import type { OpenedCodec } from "../open_codec.ts";
import { policyNames } from "./session_engine.ts";
import type { SessionOptions } from "./session_options.ts";

/** What the untrained model under adapters is called. */
const frozenName = "policy-frozen";

/** The gateway in front of a session's engine and store. */
export function openSessionGateway(
  { clock, entropy }: Platform,
  {
    config,
    key,
    say,
    script = [],
    gatewayParts,
  }: Pick<SessionOptions, "config" | "key" | "say" | "script" | "gatewayParts">,
  store: Store,
  engine: Engine,
  { codec, tokenText, tokenBytes, format }: OpenedCodec,
): GatewayApp {
  const served = { codec, tokenText, tokenBytes };
  const [first, ...more] = policyNames(config);
  const further = more.map((name) => [name, { engine: adapterEngine(engine, name), ...served }] as const);
  const frozen = { engine: adapterEngine(engine, baseAdapter), ...served };
  return createApp({
    store,
    model: script.length === 0 ? { engine, ...served } : { engine, ...served, script: new ReplyScript(script) },
    policies: Object.fromEntries(further),
    others: config.train.loraRank > 0 ? { [frozenName]: frozen } : {},
    clock,
    entropy,
    config: {
      key: key ?? hex(entropy.bytes(24)),
      modelName: first ?? config.model.name,
      trainTemperature: config.train.temperature,
      valTemperature: config.eval.temperature,
      seed: config.seed,
    },
    report: (fault) => say(`gateway: ${asLeydenError(fault).message}`),
    ...gatewayParts?.(store, engine, (id) => format.tokenizer.tokenBytes(id)),
  });
}
