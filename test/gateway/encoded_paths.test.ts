/** Models' names in paths: decoded once, and what cannot be decoded is another name, never a fault of the gateway. */
import { describe, expect, it } from "vitest";
import { AppClient } from "./app_client.ts";

const contents = [{ role: "user", parts: [{ text: "hi" }] }];

/** A gateway with a rollout, and an alias that paths carry encoded. */
async function world(): Promise<AppClient> {
  const client = new AppClient({ aliases: { "org/50%": "m" } });
  await client.create("r");
  return client;
}

describe("a model's name in a path", () => {
  it("is decoded once", async () => {
    const client = await world();
    for (const path of ["/v1/models/org%2F50%25", "/v1/models/org/50%25"]) {
      expect(await (await client.get(path)).json(), path).toMatchObject({ id: "org/50%" });
    }
    expect(await (await client.get("/v1beta/models/org%2F50%25")).json()).toMatchObject({ name: "models/org/50%" });
    const twice = await client.get("/v1/models/org%252F50%2525");
    expect([twice.status, await twice.text()]).toEqual([404, expect.stringContaining("org%2F50%25")]);
    expect(client.faults).toEqual([]);
  });

  it.each(["%zz", "a%2", "%", "%25zz", "%2525zz", "%ff", "%E0%A4%A"])("%s is a name like others", async (name) => {
    const client = await world();
    for (const path of ["/v1/models", "/v1beta/models", "/r/r/0/train/v1/models", "/r/r/0/train/v1beta/models"]) {
      expect((await client.get(`${path}/${name}`)).status, path).toBe(404);
    }
    for (const base of ["/v1beta", "/v1alpha", "/r/r/0/train/v1beta"]) {
      for (const method of ["generateContent", "streamGenerateContent", "countTokens"]) {
        const path = `${base}/models/${name}:${method}`;
        expect((await client.post(path, { contents })).status, path).toBe(200);
      }
      const bare = await client.post(`${base}/models/${name}`, { contents });
      expect(bare.status, name).toBe(404);
    }
    expect(client.faults).toEqual([]);
  });
});
