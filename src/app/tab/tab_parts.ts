import type { GatewayApp } from "../../../gateway/app.ts";
import type { BrowserSqlite } from "../../platform/wasm_sqlite.ts";
import type { AgentStart } from "../../schema/agent_worker.ts";
import type { PageAssets } from "../../schema/page_assets.ts";
import type { PageFiles } from "../../schema/page_files.ts";
import type { Platform } from "../../schema/platform.ts";
import type { AgentWay } from "./tab_messages.ts";

/** What the runs of a tab share. */
export interface TabParts {
  readonly platform: Platform;
  readonly sqlite: BrowserSqlite;
  readonly assets: PageAssets;
  readonly page: PageFiles;
  readonly agents: AgentWay;
  readonly gatewayUrl: string | null;
  /** The gateway's admin key, the same for every run of the tab. */
  readonly key: string;
  scriptAt(path: string): AgentStart["script"];
  /** As ServedGateway.use: resolves when the gateway before it has answered everything, and what it reads may be closed. */
  use(app: GatewayApp): Promise<void>;
  say(line: string): void;
}
