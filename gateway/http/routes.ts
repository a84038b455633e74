import { type Context, Hono } from "hono";

/** Prefix of every dialect's paths that says whose call it is. */
export const attemptPrefix = "/r/:rollout_id/:attempt_id/:mode";

/** Answers one request. */
export type Handler = (context: Context) => Response | Promise<Response>;

/** Answers a request that no route takes; `allow` are the methods of a path whose others are refused. */
export type Refuse = (context: Context, status: 404 | 405, allow?: readonly Method[]) => Response;

/** HTTP methods that routes are made for. */
export type Method = "GET" | "POST" | "PATCH" | "DELETE";

/** Routes with their methods known, so that a wrong method is told apart from a wrong path. */
export class Routes {
  readonly app: Hono = new Hono();
  /** What is served, in order. */
  readonly list: { method: Method; path: string; summary: string }[] = [];

  /** Adds a route; `summary` says what it is for, in the API's description. */
  add(method: Method, path: string, summary: string, handler: Handler): void {
    this.list.push({ method, path, summary });
    this.app.on(method, path, handler);
  }

  /** To be called after the last `add`: other methods of known paths get 405, other paths 404. */
  close(refuse: Refuse): void {
    const methods = new Map<string, Method[]>();
    for (const { method, path } of this.list) methods.set(path, [...(methods.get(path) ?? []), method]);
    for (const [path, allowed] of methods) this.app.all(path, (context) => refuse(context, 405, allowed));
    this.app.notFound((context) => refuse(context, 404));
  }
}
