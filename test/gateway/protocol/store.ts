/**
 * Agent Lightning's store endpoints over HTTP: what was seen upstream. Plan: creation, listing, cursor, patching,
 * deletion, events.
 */
import { beforeAll, describe, expect, it } from "vitest";
import { type Client, problems, read } from "../served_process.ts";
import type { World } from "./world.ts";

export function storeSuite(world: () => World): void {
  let client: Client;
  beforeAll(() => {
    ({ client } = world());
  });

  describe("rollouts", () => {
    it("have upstream's JSON, defaults and key order", async () => {
      const { body } = await read(client.post("/api/rollouts", [{ rollout_id: "json", input: { data_id: "d1" } }]));
      const [rollout] = body as [{ status: { created_at: number } }];
      const at = rollout.status.created_at;
      expect(at).toBeGreaterThan(1.7e9);
      expect(JSON.stringify(rollout)).toBe(
        JSON.stringify({
          rollout_id: "json",
          input: { data_id: "d1" },
          is_train: true,
          config: { timeout_seconds: 3600, local: null, k8s: null },
          metadata: { batch_idx: null, sample_idx_in_batch: null },
          status: {
            state: "queuing",
            k8s_job_name: null,
            last_attempt_id: null,
            error_message: null,
            version: 1,
            created_at: at,
            updated_at: at,
          },
        }),
      );
    });

    it("get an id when they bring none, or an empty one", async () => {
      const { body } = await read(
        client.post("/api/rollouts", [{ input: 1 }, { input: 1, rollout_id: "" }, { input: null, rollout_id: null }]),
      );
      const ids = (body as { rollout_id: string }[]).map((rollout) => rollout.rollout_id);
      for (const id of ids) expect(id).toMatch(/^[0-9a-f]{32}$/);
      expect(new Set(ids).size).toBe(3);
    });

    it("keep nulls inside the input, ignore unknown fields, and may repeat an id", async () => {
      const twice = [
        { rollout_id: "twice", input: { n: null }, config: null, unknown: 1, is_train: "no" },
        { rollout_id: "twice", input: 2 },
      ];
      const { body } = await read(client.post("/api/rollouts", twice));
      expect(body).toMatchObject([
        { input: { n: null }, is_train: false, config: { timeout_seconds: 3600 } },
        { input: { n: null }, is_train: false },
      ]);
      expect(body).not.toHaveProperty("[0].unknown");
    });

    it("with metadata of a wrong type fail the request, and what came before stays", async () => {
      const items = [
        { rollout_id: "before", input: 1, metadata: { batch_idx: "7" } },
        { rollout_id: "bad", input: 1, metadata: { batch_idx: "seven" } },
        { rollout_id: "after", input: 1 },
      ];
      const response = await client.post("/api/rollouts", items);
      expect(response.status).toBe(500);
      expect(response.headers.get("content-type")).toMatch(/^text\/plain/);
      expect(await response.text()).toBe("Internal Server Error");
      expect(await read(client.get("/api/rollouts/before"))).toMatchObject({
        status: 200,
        body: { rollout: { metadata: { batch_idx: 7 } } },
      });
      expect((await client.get("/api/rollouts/bad")).status).toBe(404);
      expect((await client.get("/api/rollouts/after")).status).toBe(404);
    });

    it("are listed with a limit as a list is sliced", async () => {
      const ids = async (query: string) => {
        const rollouts = (await (await client.get(`/api/rollouts?state_in=failed${query}`)).json()) as {
          rollout_id: string;
        }[];
        return rollouts.map((rollout) => rollout.rollout_id);
      };
      await client.create("l1", "l2", "l3");
      for (const id of ["l3", "l1", "l2"]) await client.patch(`/api/rollouts/${id}`, { status: { state: "failed" } });
      expect(await ids("")).toEqual(["l1", "l2", "l3"]);
      expect(await ids("&limit=0")).toEqual([]);
      expect(await ids("&limit=2")).toEqual(["l1", "l2"]);
      expect(await ids("&limit=-1")).toEqual(["l1", "l2"]);
      expect(await problems(client.get("/api/rollouts"))).toMatchObject([
        { type: "missing", loc: ["query", "state_in"] },
      ]);
      expect(await problems(client.get("/api/rollouts?state_in=done"))).toMatchObject([
        { type: "enum", loc: ["query", "state_in"] },
      ]);
      expect(await problems(client.get("/api/rollouts?state_in=failed&limit=x"))).toMatchObject([
        { type: "int_parsing" },
      ]);
      for (const limit of ["99999999999999999999", "-9007199254740993", `1${"0".repeat(400)}`]) {
        expect(await problems(client.get(`/api/rollouts?state_in=failed&limit=${limit}`))).toEqual([
          {
            type: "int_parsing_size",
            loc: ["query", "limit"],
            msg: "Unable to parse input string as an integer, exceeded maximum size",
            input: limit,
          },
        ]);
      }
    });

    it("that are deleted stay in the cursor's count, not in its items", async () => {
      await client.create("gone");
      const { total_terminal: before } = (await read(client.get("/api/rollouts/terminal"))).body as {
        total_terminal: number;
      };
      await client.patch("/api/rollouts/gone", { status: { state: "failed" } });
      await client.delete("/api/rollouts/gone");
      const page = await read(client.get(`/api/rollouts/terminal?after=${before}`));
      expect(page.body).toEqual({ items: [], next_after: before + 1, total_terminal: before + 1 });
      const clamped = await read(client.get("/api/rollouts/terminal?after=-5&limit=-5"));
      expect(clamped.body).toMatchObject({ next_after: 1 });
    });

    it("are read with their attempts, or not found", async () => {
      expect(await read(client.get("/api/rollouts/nobody"))).toEqual({
        status: 404,
        body: { detail: "Rollout not found: nobody" },
      });
      await client.create("att");
      for (const attempt of ["1", "0", "1"]) {
        await client.post(`/api/rollouts/att/attempt/${attempt}/events`, { event_type: "note" });
      }
      expect(await read(client.get("/api/rollouts/att"))).toMatchObject({ body: { attempts: ["1", "0"] } });
    });
  });

  describe("patching", () => {
    const patch = (id: string, body: unknown) => read(client.patch(`/api/rollouts/${id}`, body));

    it("without a field changes nothing", async () => {
      await client.create("p1");
      for (const body of [{}, { status: null }, { status: {} }, { other: 1 }]) {
        expect(await patch("p1", body)).toMatchObject({ status: 200, body: { status: { version: 1 } } });
      }
    });

    it("applies what is present, null included, and counts", async () => {
      await client.create("p2");
      await patch("p2", { status: { last_attempt_id: "0", error_message: "e" } });
      expect(await patch("p2", { status: { last_attempt_id: null } })).toMatchObject({
        body: { status: { state: "queuing", last_attempt_id: null, error_message: "e", version: 3 } },
      });
    });

    it("refuses every transition but the legal ones, with the whole patch", async () => {
      await client.create("p3");
      const detail = (word: unknown) => ({ status: 409, body: { detail: `Rollout p3: cannot transition ${word}` } });
      expect(await patch("p3", { status: { state: "succeeded", error_message: "x" } })).toEqual(
        detail("queuing -> succeeded"),
      );
      expect(await patch("p3", { status: { state: null } })).toEqual(detail("queuing -> None"));
      expect(await patch("p3", { status: { state: "queuing" } })).toEqual(detail("queuing -> queuing"));
      await patch("p3", { status: { state: "running" } });
      expect(await patch("p3", { status: { state: "queuing" } })).toEqual(detail("running -> queuing"));
      await patch("p3", { status: { state: "succeeded" } });
      expect(await patch("p3", { status: { state: "failed" } })).toEqual(detail("succeeded -> failed"));
      expect(await patch("p3", { status: { error_message: "late" } })).toMatchObject({
        status: 200,
        body: { status: { state: "succeeded", error_message: "late", version: 4 } },
      });
      expect(await patch("nobody", { status: { state: "running" } })).toEqual({
        status: 404,
        body: { detail: "Rollout not found: nobody" },
      });
    });
  });

  describe("events", () => {
    it("are of the last attempt, any attempt may post, also after the end", async () => {
      await client.create("e1");
      const post = (attempt: string, body: unknown) => client.post(`/api/rollouts/e1/attempt/${attempt}/events`, body);
      const posted = await read(post("0", { event_type: "note", data: { n: 1 } }));
      expect(posted.body).toEqual({
        event_type: "note",
        rollout_id: "e1",
        attempt_id: "0",
        timestamp: expect.any(Number),
        data: { n: 1 },
      });
      await post("1", { event_type: "note" });
      expect((await client.events("e1")).map((event) => event.data)).toEqual([{ n: 1 }]);
      await client.patch("/api/rollouts/e1", { status: { state: "failed", last_attempt_id: "1" } });
      expect(await client.events("e1")).toHaveLength(1);
      expect((await post("1", { event_type: "late" })).status).toBe(200);
      expect((await client.events("e1")).map((event) => event.event_type)).toEqual(["note", "late"]);
      expect(await client.events("e1", "?event_type=late&format=other")).toHaveLength(1);
      expect((await client.post("/api/rollouts/nobody/attempt/0/events", { event_type: "x" })).status).toBe(404);
      expect(await problems(post("0", { data: {} }))).toMatchObject([{ type: "missing", loc: ["body", "event_type"] }]);
      expect(await problems(post("0", { event_type: "x", data: [] }))).toMatchObject([{ type: "dict_type" }]);
    });

    it("with the same id are added once", async () => {
      await client.create("e2");
      for (const value of [1, 2]) {
        await client.post("/api/rollouts/e2/attempt/0/events", {
          event_type: "reward",
          data: { value },
          event_id: "outbox-1",
        });
      }
      expect((await client.events("e2")).map((event) => event.data)).toEqual([{ value: 1 }]);
    });

    it("of two rewards both stay, the last one last", async () => {
      await client.create("e3");
      for (const value of [1, 0.5]) {
        await client.post("/api/rollouts/e3/attempt/0/events", {
          event_type: "reward",
          data: { value, source: "agent", reason: "r", more: 1 },
        });
      }
      const short = await client.events("e3", "?format=triplet");
      expect(short.map((event) => event.data)).toEqual([
        { value: 1, source: "agent", reason: "r" },
        { value: 0.5, source: "agent", reason: "r" },
      ]);
    });
  });
}
