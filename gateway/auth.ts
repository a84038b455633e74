import { equalInConstantTime } from "./http/constant_time.ts";
import type { AttemptKey, RolloutKeys } from "./keys.ts";

/** Who calls: the admin, who may do everything, or one attempt's agent. */
export type Principal = { kind: "admin" } | ({ kind: "agent" } & AttemptKey);

const admin: Principal = { kind: "admin" };

/** The keys a request shows, in the order they are tried; Gemini's clients may put theirs into the address. */
function presentedKeys({ headers, url }: Request): string[] {
  const authorization = headers.get("authorization");
  const bearer = authorization?.startsWith("Bearer ") ? authorization.slice("Bearer ".length) : null;
  const inQuery = url.includes("key=") ? new URL(url).searchParams.get("key") : null;
  return [bearer, headers.get("x-api-key"), headers.get("x-goog-api-key"), inQuery].filter((key) => key !== null);
}

/** A page of another site that talks to a gateway without authentication. */
function isForeignPage(request: Request): boolean {
  const origin = request.headers.get("origin");
  return origin !== null && origin !== new URL(request.url).origin;
}

/** Who a request comes from; null when no key it shows is good. An empty admin key lets everybody in. */
export async function principalOf(request: Request, adminKey: string, keys: RolloutKeys): Promise<Principal | null> {
  const presented = presentedKeys(request);
  if (adminKey !== "" && presented.some((key) => equalInConstantTime(key, adminKey))) return admin;
  for (const key of presented) {
    const opened = await keys.check(key);
    if (opened) return { kind: "agent", ...opened };
  }
  return adminKey === "" && !isForeignPage(request) ? admin : null;
}
