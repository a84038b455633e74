/**
 * Captured sessions played again: every reply that a request holds was sampled by the gateway's own model before, in
 * other words of JSON than the harness sends back, and its ids stand where the capture has the other server's.
 */
import { readFileSync } from "node:fs";
import { sharedPath } from "../../shared.ts";
import { dataOf, type GatewayServer, type Json } from "./gateway_server.ts";
import { type Ids, type Wire, wires } from "./wires.ts";

/** A line of the captures' index. */
export interface CaptureLine {
  file: string;
  scenario: string;
  dialect: string;
  path: string;
  note: string;
}

/** A captured request. */
export interface Capture extends CaptureLine {
  body: Json;
  headers: Record<string, string>;
}

/** All captured requests, in their order. */
export function readCaptures(): Capture[] {
  const index = JSON.parse(readFileSync(sharedPath("captures/index.json"), "utf8")) as { captures: CaptureLine[] };
  return index.captures.map((line) => {
    const { body, headers } = JSON.parse(readFileSync(sharedPath(`captures/${line.file}`), "utf8")) as Capture;
    return { ...line, body, headers };
  });
}

/** The captured requests of one scenario, or of one file: "codex", "codex/04-request.json". */
export function captured(name: string): Capture[] {
  const found = readCaptures().filter(({ scenario, file }) => scenario === name || file === name);
  if (found.length === 0) throw new Error(`There is no capture ${name}.`);
  return found;
}

/** Where the replies of a conversation begin and end. */
function repliesIn(items: readonly Json[], wire: Wire): [start: number, end: number][] {
  const found: [number, number][] = [];
  for (const [at, item] of items.entries()) {
    if (!wire.isReply(item)) continue;
    const last = found.at(-1);
    if (last?.[1] === at && wire.list === "input") last[1] = at + 1;
    else found.push([at, at + 1]);
  }
  return found;
}

/** Arguments as no harness writes them back. */
export const spaced = (args: unknown): string => JSON.stringify(args ?? {}, null, 1);

/** One session of a harness with the gateway. */
export class Replay {
  readonly server: GatewayServer;
  readonly rollout: string;
  /** Ids of the captured server, and those in their places. */
  private readonly ids = new Map<string, string>();
  /** Conversations that were played, by what they held. */
  private readonly played = new Set<string>();
  private readonly session: readonly Capture[];

  /** `session`: all requests that will be played, where the replies to be sampled are found. */
  constructor(server: GatewayServer, rollout: string, session: readonly Capture[]) {
    this.server = server;
    this.rollout = rollout;
    this.session = session;
  }

  /** Plays the whole session. */
  async playAll(): Promise<void> {
    for (const request of this.session) await this.play(request);
  }

  /**
   * Plays a request: first what it holds of replies that no request of the session asked for, then itself. What is
   * sampled is the reply that a later request of the session holds in that place. Returns the answer.
   */
  async play({ dialect, body }: Pick<Capture, "dialect" | "body">): Promise<Json> {
    const wire = wires[dialect] as Wire;
    const given = body[wire.list];
    const items = Array.isArray(given) ? (given as Json[]) : [];
    for (const [start, end] of repliesIn(items, wire)) {
      if (this.played.has(plainJson(items.slice(0, end)))) continue;
      const hasCalls = (wire.idsOf(items.slice(0, end)).call ?? []).length > 0;
      await this.turn(wire, hasCalls ? this.withTools(body) : body, items, [start, end]);
    }
    const next = this.replyTo(wire, body, items);
    if (next) return await this.turn(wire, body, next.items, next.reply);
    return await this.send(wire, body, "done");
  }

  /** A later request that holds this conversation and a reply to it that was not sampled yet. */
  private replyTo(
    wire: Wire,
    { tools }: Json,
    items: readonly Json[],
  ): { items: readonly Json[]; reply: [number, number] } | null {
    const name = plainJson(items);
    for (const { body } of this.session.filter((one) => plainJson(one.body.tools) === plainJson(tools))) {
      const later = (Array.isArray(body[wire.list]) ? body[wire.list] : []) as Json[];
      const reply = repliesIn(later, wire).find(([start]) => start === items.length);
      const isNew = reply && !this.played.has(plainJson(later.slice(0, reply[1])));
      if (isNew && plainJson(later.slice(0, items.length)) === name) return { items: later, reply };
    }
    return null;
  }

  /** Sends `body` up to a reply of the conversation `items`, has that reply sampled, and learns its ids. */
  private async turn(wire: Wire, body: Json, items: readonly Json[], [start, end]: [number, number]): Promise<Json> {
    this.played.add(plainJson(items.slice(0, end)));
    const said = items.slice(start, end);
    const before = { ...body, [wire.list]: items.slice(0, start) };
    const answer = await this.send(wire, before, wire.sampled(said, spaced));
    this.learn(wire.idsOf(said), wire.idsOfAnswer(answer));
    return answer;
  }

  /** A request for a summary comes without the tools that its conversation had. */
  private withTools(body: Json): Json {
    const hasTools = (one: Json) => Array.isArray(one.tools) && one.tools.length > 0;
    const other = this.session.find((capture) => hasTools(capture.body))?.body;
    return hasTools(body) || !other ? body : { ...body, tools: other.tools };
  }

  private learn(theirs: Ids, ours: Ids): void {
    for (const [kind, ids] of Object.entries(theirs)) {
      for (const [at, id] of ids.entries()) {
        const own = ours[kind]?.[at];
        if (typeof id === "string" && typeof own === "string") this.ids.set(id, own);
      }
    }
  }

  /** Sends a request with the gateway's own ids in it; `reply` is what the model samples. */
  async send(wire: Wire, body: Json, reply: string): Promise<Json> {
    let text = JSON.stringify(body);
    for (const [theirs, own] of this.ids) text = text.replaceAll(JSON.stringify(theirs), JSON.stringify(own));
    this.server.engine.texts.push(reply);
    const answer = await this.server.post(this.rollout, wire.path, text);
    if (answer.status !== 200) throw new Error(`${answer.status}: ${answer.text}`);
    const isStream = answer.headers.get("content-type")?.startsWith("text/event-stream");
    return isStream ? wire.fromStream(dataOf(answer.text)) : (JSON.parse(answer.text) as Json);
  }
}

/** What two writings of one conversation share: cache marks, and how a text is wrapped, differ from turn to turn. */
function plainJson(value: unknown): string {
  return JSON.stringify(value, (key, item: unknown) => {
    if (key === "cache_control") return undefined;
    if (!Array.isArray(item) || item.length !== 1) return item;
    const [only] = item as Json[];
    return only?.type === "text" && typeof only.text === "string" ? only.text : item;
  });
}
