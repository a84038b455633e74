import { LeydenError } from "../../src/core/errors.ts";
import { policyVersionHeader } from "../../src/schema/policy_version.ts";
import type { Answered } from "../calls/answered.ts";
import type { GatewayConfig } from "../config.ts";
import type { GatewayDeps } from "../deps.ts";
import { jsonReply, streamReply } from "../http/delivery.ts";
import type { Dialect, JsonObject, ModelCall } from "./dialect.ts";

/** A model's own error, found while its stream was awaited. */
class RefusedStream extends LeydenError {
  readonly answered: Answered;

  constructor(answered: Answered) {
    super("refused", `The model answered with status ${answered.status}.`);
    this.answered = answered;
  }
}

function send({ status, json, watch, version }: Answered): Response {
  return jsonReply(status, json, watch, version === undefined ? {} : { [policyVersionHeader]: String(version) });
}

/** The answer in its dialect, as JSON or as a stream. @throws what `work` throws before anything is sent */
export async function replyTo(
  dialect: Dialect,
  call: ModelCall,
  work: Promise<Answered>,
  { clock }: Pick<GatewayDeps, "clock">,
  { limits }: Pick<GatewayConfig, "limits">,
): Promise<Response> {
  if (!call.stream) return send(await work);
  const streamed = work.then((answered) => {
    if (answered.status >= 400) throw new RefusedStream(answered);
    return { events: dialect.stream(answered.json as JsonObject, call), watch: answered.watch };
  });
  const { holdHeadersMs, keepAliveMs } = limits;
  const contentType = dialect.streamType?.(call) ?? null;
  try {
    return await streamReply(streamed, {
      clock,
      holdHeadersMs,
      keepAliveMs,
      keepAlive: dialect.keepAlive,
      contentType,
    });
  } catch (thrown) {
    if (thrown instanceof RefusedStream) return send(thrown.answered);
    throw thrown;
  }
}
