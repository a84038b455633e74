import type { GatewayApp } from "../../../gateway/app.ts";
import type { Clock } from "../../core/clock.ts";

/** What is used of a gateway. */
export type ServedApp = Pick<GatewayApp, "fetch" | "drain">;

/** How long calls of a gateway that is no longer in use may go on, and then what else was asked of it. */
const drainMs = 10_000;
const answerMs = 5_000;

/**
 * True for what steers runs. A start is answered when its run is open: whoever closes what a gateway reads to make way for
 * that run would wait for itself.
 */
function isSteering(request: Request): boolean {
  return new URL(request.url).pathname.endsWith("/studio/api/control");
}

/** One gateway, and what it is asked. */
class AskedGateway {
  readonly app: ServedApp;
  private readonly asked = new Set<Promise<unknown>>();

  constructor(app: ServedApp) {
    this.app = app;
  }

  async fetch(request: Request): Promise<Response> {
    const answer = Promise.resolve(this.app.fetch(request));
    if (isSteering(request)) return answer;
    this.asked.add(answer);
    try {
      return await answer;
    } finally {
      this.asked.delete(answer);
    }
  }

  /** Ends what waits, and resolves when everything is answered. */
  async leave(clock: Clock): Promise<void> {
    await this.app.drain(drainMs);
    const late = new AbortController();
    await Promise.race([Promise.allSettled(this.asked), clock.sleep(answerMs, late.signal).catch(() => {})]);
    late.abort();
  }
}

/** The gateway that answers in a tab, whichever run is open: one follows the other without a moment in which none does. */
export class ServedGateway {
  private readonly clock: Clock;
  private current: AskedGateway | null = null;

  constructor(clock: Clock) {
    this.clock = clock;
  }

  /** Asks the gateway in use; 503 "opening" before there is one. */
  async fetch(request: Request): Promise<Response> {
    if (this.current !== null) return this.current.fetch(request);
    return Response.json({ error: { code: "opening" } }, { status: 503, headers: { "retry-after": "1" } });
  }

  /**
   * `app` answers from now on. Resolves when the one before it has answered all it was asked, but for what steers runs:
   * what it reads may be closed then.
   */
  async use(app: ServedApp): Promise<void> {
    const before = this.current;
    this.current = new AskedGateway(app);
    await before?.leave(this.clock);
  }
}
