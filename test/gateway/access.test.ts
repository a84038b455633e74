/**
 * Who may do what. Plan: a rollout's key at every route, the three ways to show a key, identity by key alone, modes and
 * attempts, forged keys, rewards that are only claims.
 */
import { beforeEach, describe, expect, it } from "vitest";
import { AppClient } from "./app_client.ts";

let client: AppClient;
let key: string;
beforeEach(async () => {
  client = new AppClient();
  await client.create("r", { hidden: { answer: 42 } });
  await client.create("other");
  key = await client.app.issueKey("r", "0");
});

const body = { messages: [{ role: "user", content: "hi" }] };
const chat = (path: string, as = key) => client.post(`${path}/v1/chat/completions`, body, as);

async function error(response: Response): Promise<[number, unknown, unknown]> {
  const { error } = (await response.json()) as { error: { code: unknown; message: unknown } };
  return [response.status, error.code, error.message];
}

describe("a rollout's key", () => {
  it("is issued to the admin, the same each time, and differs by attempt", async () => {
    const issue = async (attempt: string, as = "admin") =>
      await client.post(`/api/rollouts/r/attempt/${attempt}/key`, undefined, as);
    expect(await (await issue("0")).json()).toEqual({ key });
    expect(await (await issue("1")).json()).not.toEqual({ key });
    expect((await issue("0", key)).status).toBe(403);
    expect((await client.post("/api/rollouts/nobody/attempt/0/key")).status).toBe(404);
  });

  it("calls its model by address and by itself, in the rollout's own mode", async () => {
    for (const path of ["/r/r/0/train", "", "/proxy/rollout/r/attempt/0/mode/train/openai"]) {
      expect((await chat(path)).status, path).toBe(200);
    }
    await client.create("v", { is_train: false });
    await chat("", await client.app.issueKey("v", "2"));
    expect(await client.store.calls("r", "0")).toHaveLength(3);
    expect((await client.store.calls("v", "2"))[0]).toMatchObject({ mode: "val", attemptId: "2" });
  });

  it("is taken from any of the three headers", async () => {
    for (const name of ["authorization", "x-api-key", "x-goog-api-key"]) {
      const shown = name === "authorization" ? `Bearer ${key}` : key;
      const init = { headers: { authorization: "", [name]: shown } };
      expect((await client.post("/v1/chat/completions", body, "none", init)).status).toBe(200);
    }
  });

  it("posts its own events and reads nothing, not even its own rollout", async () => {
    expect((await client.post("/api/rollouts/r/attempt/0/events", { event_type: "note" }, key)).status).toBe(200);
    const closed: [string, string][] = [
      ["GET", "/api/rollouts/r"],
      ["GET", "/api/rollouts/other"],
      ["GET", "/api/rollouts/r/events"],
      ["GET", "/api/rollouts/r/calls"],
      ["GET", "/api/rollouts?state_in=queuing"],
      ["GET", "/api/rollouts/terminal"],
      ["GET", "/api/changes"],
      ["POST", "/api/rollouts"],
      ["PATCH", "/api/rollouts/r"],
      ["DELETE", "/api/rollouts/r"],
      ["POST", "/api/models"],
      ["DELETE", "/api/models"],
      ["POST", "/proxy/pause"],
      ["POST", "/proxy/resume"],
      ["GET", "/proxy/state"],
    ];
    for (const [method, path] of closed) {
      const response = await client.send(method, path, method === "GET" ? undefined : {}, key);
      expect([response.status, await response.json()], path).toEqual([
        403,
        { detail: "A rollout's key calls its model and posts its own events, nothing else" },
      ]);
    }
  });

  it("opens no other rollout and no other attempt", async () => {
    const refused = [403, "other_rollout", "This key opens another attempt. Use the key this agent was started with."];
    for (const path of [
      "/r/other/0/train",
      "/r/r/1/train",
      "/r/nobody/0/train",
      "/proxy/rollout/other/attempt/0/mode/train/openai",
    ]) {
      expect(await error(await chat(path)), path).toEqual(refused);
    }
    for (const path of ["other/attempt/0", "r/attempt/1"]) {
      const response = await client.post(
        `/api/rollouts/${path}/events`,
        { event_type: "reward", data: { value: 1 } },
        key,
      );
      expect(await error(response)).toEqual(refused);
    }
    expect(await client.store.events("other", "0")).toEqual([]);
  });

  it("does not call in the other mode, after the end, or after a later attempt began", async () => {
    expect(await error(await chat("/r/r/0/val"))).toEqual([
      403,
      "other_mode",
      "This rollout is not of mode val. Use the address this agent was started with.",
    ]);
    const patch = (status: object) => client.send("PATCH", "/api/rollouts/r", { status });
    await patch({ state: "running", last_attempt_id: "1" });
    expect(await error(await chat("/r/r/0/train"))).toEqual([
      409,
      "attempt_ended",
      "Attempt 0 was followed by attempt 1; its calls are over.",
    ]);
    const second = await client.app.issueKey("r", "1");
    expect((await chat("/r/r/1/train", second)).status).toBe(200);
    await patch({ state: "failed" });
    expect(await error(await chat("", second))).toEqual([
      409,
      "rollout_ended",
      "Rollout r has failed; its calls are over.",
    ]);
    expect((await chat("/r/r/0/val", "admin")).status).toBe(200);
  });

  it("cannot be forged, cut, or used at a gateway with another key", async () => {
    const [claim = "", signature = ""] = key.split(".");
    const forged = `lrk-${btoa(JSON.stringify(["other", "0"]))}.${signature}`;
    for (const bad of [forged, claim, `${claim}.`, `${key}x`, key.slice(1), "lrk-", "lrk-.", "lrk-%.%"]) {
      expect((await chat("", bad)).status, bad).toBe(401);
      expect((await chat("", bad)).status, bad).toBe(401);
    }
    const elsewhere = new AppClient({ key: "another" });
    await elsewhere.create("r");
    expect((await elsewhere.post("/v1/chat/completions", body, key)).status).toBe(401);
  });

  it("limits its holder even where authentication is off", async () => {
    const open = new AppClient({ key: "" });
    await open.create("r");
    const own = await open.app.issueKey("r", "0");
    expect((await open.get("/api/rollouts/r", own)).status).toBe(403);
    expect((await open.get("/api/rollouts/r", "anything")).status).toBe(200);
    expect((await open.post("/r/r/0/train/v1/chat/completions", body, own)).status).toBe(200);
  });
});

describe("addresses", () => {
  it("that name no rollout or mode are not found", async () => {
    expect(await error(await chat("/r/nobody/0/train", "admin"))).toEqual([
      404,
      "rollout_not_found",
      "Rollout not found: nobody",
    ]);
    expect(await error(await chat("/r/r/0/test", "admin"))).toEqual([
      404,
      "unknown_mode",
      "Unsupported mode: test. Use train or val.",
    ]);
    expect(await error(await chat("/r/r/0/train", "wrong"))).toEqual([
      401,
      "invalid_api_key",
      "Invalid or missing API key",
    ]);
    expect((await client.get("/r/r/0/train/v1/chat/completions")).status).toBe(405);
    expect((await client.get("/r/r/0/train/v1/nothing")).status).toBe(404);
  });

  it("may name rollouts and attempts of any spelling", async () => {
    const id = "a/b c%é";
    await client.create(id);
    expect((await chat(`/r/${encodeURIComponent(id)}/at%2F1/train`, "admin")).status).toBe(200);
    expect(await client.store.calls(id, "at/1")).toHaveLength(1);
  });
});

describe("rewards", () => {
  const post = async (as: string, rolloutId = "r") => {
    const reward = { event_type: "reward", data: { value: 1 } };
    return (await (await client.post(`/api/rollouts/${rolloutId}/attempt/0/events`, reward, as)).json()) as {
      event_type: string;
    };
  };

  it("that an agent posts are claims, and two of them two", async () => {
    expect((await post(key)).event_type).toBe("claimed_reward");
    await post(key);
    expect((await post("admin")).event_type).toBe("reward");
    const types = (await client.store.events("r", "0")).map((event) => event.event_type);
    expect(types).toEqual(["claimed_reward", "claimed_reward", "reward"]);
  });

  it("that come after the end are claims, whatever the rollout says", async () => {
    await client.create("late", { config: { reward: { source: "agent" } } });
    await client.send("PATCH", "/api/rollouts/late", { status: { state: "failed" } });
    expect((await post(await client.app.issueKey("late", "0"), "late")).event_type).toBe("claimed_reward");
    expect((await post("admin", "late")).event_type).toBe("reward");
  });

  it("count where the rollout says that agents' rewards do", async () => {
    for (const [id, source, expected] of [
      ["ra", "agent", "reward"],
      ["rg", "grader", "claimed_reward"],
      ["re", "exit", "claimed_reward"],
    ] as const) {
      await client.create(id, { config: { reward: { source } } });
      expect((await post(await client.app.issueKey(id, "0"), id)).event_type, source).toBe(expected);
    }
  });
});
