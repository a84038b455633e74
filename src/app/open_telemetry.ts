import type { HostPlatform } from "../schema/platform.ts";
import type { Store } from "../schema/store.ts";
import type { Telemetry } from "./telemetry.ts";

/**
 * Spans of what happens in a store, to the collector at `endpoint` or that of OTEL_EXPORTER_OTLP_ENDPOINT; null where
 * neither is named. The libraries are loaded only then.
 */
export async function openTelemetry(
  { env }: HostPlatform,
  store: Store,
  endpoint: string,
  say: (line: string) => void,
): Promise<Telemetry | null> {
  const known = env.OTEL_EXPORTER_OTLP_ENDPOINT ?? env.OTEL_EXPORTER_OTLP_TRACES_ENDPOINT ?? "";
  if (endpoint === "" && known === "") return null;
  const { Telemetry } = await import("./telemetry.ts");
  return Telemetry.open({ endpoint, store, say });
}
