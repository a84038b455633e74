import type { ListenOptions, ServedApp, ServedGateway } from "../../gateway/listening.ts";
import type { HostPlatform } from "../schema/platform.ts";

/** Serves a gateway by the runtime's own HTTP server. @throws EnvironmentError "cannot_listen" */
export async function listen(platform: HostPlatform, app: ServedApp, options: ListenOptions): Promise<ServedGateway> {
  if (platform.runtime === "deno") return await (await import("../../gateway/serve_deno.ts")).serveDeno(app, options);
  return await (await import("../../gateway/serve_node.ts")).serveNode(app, options);
}
