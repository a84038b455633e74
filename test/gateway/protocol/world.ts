import { Client, inventoryArgs, type ServedProcess, startServed } from "../served_process.ts";
import { StubUpstream } from "./stub_upstream.ts";

/** What the protocol's tests share: gateways in processes of their own, and a model server. */
export interface World {
  served: ServedProcess;
  client: Client;
  upstream: StubUpstream;
  /** A gateway without authentication. */
  open: ServedProcess;
  /** A gateway that nobody else writes to. */
  fresh: Client;
  close(): Promise<void>;
}

/** Starts everything at once. */
export async function openWorld(): Promise<World> {
  const upstream = new StubUpstream();
  const withoutKey = inventoryArgs.map((arg) => (arg.startsWith("--key") ? "--key=" : arg));
  const [served, open, fresh] = await Promise.all([
    startServed(),
    startServed(withoutKey),
    startServed(),
    upstream.start(),
  ]);
  return {
    served,
    client: new Client(served),
    upstream,
    open,
    fresh: new Client(fresh),
    async close() {
      await Promise.all([served.stop(), open.stop(), fresh.stop(), upstream.stop()]);
    },
  };
}
