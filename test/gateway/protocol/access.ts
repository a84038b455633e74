/** Agent Lightning over HTTP: who may call, in which order that is checked, and how errors look. */
import { beforeAll, describe, expect, it } from "vitest";
import { Client, problems, read } from "../served_process.ts";
import type { World } from "./world.ts";

export function accessSuite(world: () => World): void {
  let client: Client;
  let url: string;
  beforeAll(() => {
    ({ client } = world());
    url = client.url;
  });

  describe("authentication", () => {
    const nobody = { authorization: "" };
    const refused = { status: 401, body: { detail: "Invalid or missing API key" } };

    it("takes Bearer and x-api-key, exactly", async () => {
      const status = async (headers: Record<string, string>) =>
        (await client.get("/proxy/state", { authorization: "", ...headers })).status;
      expect(await status({ authorization: "Bearer test-secret-key" })).toBe(200);
      expect(await status({ "x-api-key": "test-secret-key" })).toBe(200);
      expect(await status({ authorization: "Bearer wrong", "x-api-key": "test-secret-key" })).toBe(200);
      for (const authorization of ["bearer test-secret-key", "Bearer  test-secret-key", "test-secret-key", "Bearer"]) {
        expect(await status({ authorization }), authorization).toBe(401);
      }
      expect(await status({ "x-api-key": "test-secret-keyy" })).toBe(401);
    });

    it("is asked for on every route but liveness and the description", async () => {
      const routes: [string, string][] = [
        ["GET", "/api/rollouts?state_in=queuing"],
        ["GET", "/api/rollouts"],
        ["GET", "/api/rollouts/terminal"],
        ["GET", "/api/rollouts/x"],
        ["PATCH", "/api/rollouts/x"],
        ["DELETE", "/api/rollouts/x"],
        ["GET", "/api/rollouts/x/events"],
        ["POST", "/api/rollouts/x/attempt/0/events"],
        ["POST", "/api/models"],
        ["DELETE", "/api/models"],
        ["POST", "/proxy/pause"],
        ["POST", "/proxy/resume"],
        ["GET", "/proxy/state"],
        ["POST", "/proxy/rollout/x/attempt/0/mode/bad/openai/v1/bad"],
      ];
      for (const [method, path] of routes) {
        expect(await read(client.send(method, path, method === "GET" ? undefined : {}, nobody)), path).toEqual(refused);
      }
      for (const path of ["/healthz", "/openapi.json", "/docs", "/redoc"]) {
        expect((await client.get(path, nobody)).status, path).toBe(200);
      }
    });

    it("comes after broken JSON and before the schema", async () => {
      expect((await problems(client.post("/api/rollouts", "[{", nobody)))[0]).toMatchObject({ type: "json_invalid" });
      expect(await read(client.post("/api/rollouts", [], nobody))).toEqual(refused);
      expect(await read(client.post("/api/rollouts", { not: "a list" }, nobody))).toEqual(refused);
      expect(await read(client.patch("/api/rollouts/x", "{"))).toMatchObject({ status: 422 });
      expect(await read(client.send("PATCH", "/api/rollouts/x", "{", nobody))).toMatchObject({ status: 422 });
    });

    it("is off with an empty key", async () => {
      const anyone = new Client({ url: world().open.url, key: "whatever" });
      expect((await anyone.get("/proxy/state")).status).toBe(200);
      expect((await fetch(`${world().open.url}/openapi.json`)).status).toBe(200);
      expect((await anyone.get("/proxy/state", { origin: "https://elsewhere.example" })).status).toBe(401);
    });
  });

  describe("description and errors", () => {
    it("names itself as upstream does", async () => {
      const { body } = await read(fetch(`${url}/openapi.json`));
      expect((body as { info: unknown }).info).toEqual({ title: "Agent Lightning", version: "1.0.0" });
    });

    it("answers unknown paths and wrong methods without asking for a key", async () => {
      expect(await read(fetch(`${url}/nowhere`))).toEqual({ status: 404, body: { detail: "Not Found" } });
      const wrong = await fetch(`${url}/api/rollouts/x`, { method: "PUT" });
      expect(wrong.headers.get("allow")?.split(", ").sort()).toEqual(["DELETE", "GET", "PATCH"]);
      expect(await read(wrong)).toEqual({ status: 405, body: { detail: "Method Not Allowed" } });
      expect((await fetch(`${url}/api/models`)).status).toBe(405);
      expect((await fetch(`${url}/proxy/rollout/x/attempt/0/mode/train/openai/v1/models`)).status).toBe(405);
    });

    it("lists problems of a body by type and place", async () => {
      const found = await problems(
        client.post("/api/rollouts", [{}, { input: 1, rollout_id: 5, config: { timeout_seconds: null } }]),
      );
      expect(found).toEqual([
        { type: "missing", loc: ["body", 0, "input"], msg: "Field required", input: {} },
        {
          type: "int_type",
          loc: ["body", 1, "config", "timeout_seconds"],
          msg: "Input should be a valid integer",
          input: null,
        },
        { type: "string_type", loc: ["body", 1, "rollout_id"], msg: "Input should be a valid string", input: 5 },
      ]);
      for (const timeout of ["soon", 1.5]) {
        expect(
          await problems(client.post("/api/rollouts", [{ input: 1, config: { timeout_seconds: timeout } }])),
        ).toMatchObject([{ type: "int_type", msg: "Input should be a valid integer", input: timeout }]);
      }
      expect(await problems(client.post("/api/rollouts", {}))).toMatchObject([{ type: "list_type", loc: ["body"] }]);
      expect(await problems(client.post("/api/rollouts"))).toMatchObject([{ type: "missing", loc: ["body"] }]);
      expect(
        await problems(client.patch("/api/rollouts/x", { status: { state: "cancelled", extra: 1 } })),
      ).toMatchObject([
        { type: "enum", msg: "Input should be 'queuing', 'running', 'succeeded' or 'failed'", input: "cancelled" },
        { type: "extra_forbidden", loc: ["body", "status", "extra"], msg: "Extra inputs are not permitted" },
      ]);
      expect(await problems(client.post("/api/rollouts", '[{"input": 1} oops]'))).toMatchObject([
        { type: "json_invalid", loc: ["body", 14] },
      ]);
    });
  });
}
