/** Paths and methods that are not served, in the words of the clients that ask for them. */
import { expect, it } from "vitest";
import { AppClient } from "./app_client.ts";

const client = new AppClient();

async function refused(method: string, path: string, headers: Record<string, string> = {}) {
  const response = await client.send(method, path, undefined, "admin", { headers });
  return { status: response.status, allow: response.headers.get("allow"), body: await response.json() };
}

it("OpenAI's clients are refused a path under /v1 in OpenAI's form", async () => {
  for (const prefix of ["", "/r/x/0/train"]) {
    expect(await refused("POST", `${prefix}/v1/chat/completion`)).toEqual({
      status: 404,
      allow: null,
      body: {
        error: {
          message: `${prefix}/v1/chat/completion is not served here. GET /openapi.json lists what is.`,
          type: "not_found_error",
          param: null,
          code: "unknown_path",
        },
      },
    });
  }
});

it("Anthropic's in Anthropic's, known by the path or by their header", async () => {
  const form = { type: "error", error: { type: "not_found_error", details: { error_code: "unknown_path" } } };
  for (const prefix of ["", "/r/x/0/train"]) {
    for (const version of ["/v1", ""]) {
      const served = { type: "error", error: { type: "not_found_error", details: { error_code: "not_served" } } };
      for (const [method, path] of [
        ["POST", "/messages/batches"],
        ["GET", "/messages/batches"],
        ["POST", "/messages/batches/1/cancel"],
      ] as const) {
        expect((await refused(method, `${prefix}${version}${path}`)).body).toMatchObject(served);
      }
      expect((await refused("POST", `${prefix}${version}/messages/other`)).body).toMatchObject(form);
      expect((await refused("GET", `${prefix}${version}/messages`)).body).toMatchObject({
        type: "error",
        error: { details: { error_code: "method_not_allowed" } },
      });
    }
  }
  const headers = { "anthropic-version": "2023-06-01" };
  expect((await refused("GET", "/v1/organizations/me", headers)).body).toMatchObject(form);
});

it("Gemini's in Gemini's", async () => {
  for (const version of ["v1beta", "v1alpha"]) {
    const { status, body } = await refused("POST", `/${version}/cachedContents`);
    expect([status, body]).toEqual([404, { error: expect.objectContaining({ code: 404, status: "NOT_FOUND" }) }]);
  }
  const form = { error: { code: 404, status: "NOT_FOUND", details: [{ domain: "leyden" }] } };
  for (const path of [
    "/v1beta",
    "/v1beta/nowhere",
    "/v1beta/files/f1",
    "/v1beta/models/m:batchGenerateContent",
    "/v1beta/models/m:embedContent",
    "/r/x/0/train/v1beta/corpora",
    "/upload/v1beta/files",
  ]) {
    expect((await refused("POST", path)).body, path).toMatchObject(form);
  }
  const withKey = await refused("POST", "/v1/tunedModels", { "x-goog-api-key": "admin" });
  expect(withKey.body).toMatchObject({ ...form, error: { details: [{ reason: "not_served" }] } });
  // Google's addresses for OpenAI's clients are theirs.
  expect((await refused("POST", "/v1beta/openai/nowhere")).body).toMatchObject({ error: { code: "unknown_path" } });
});

it("a wrong method says which ones there are, in the same forms", async () => {
  expect(await refused("PATCH", "/v1/chat/completions")).toMatchObject({
    status: 405,
    allow: "POST",
    body: { error: { code: "method_not_allowed", message: "/v1/chat/completions takes POST, not PATCH." } },
  });
  expect(await refused("GET", "/v1/messages")).toMatchObject({ status: 405, allow: "POST", body: { type: "error" } });
  expect(await refused("GET", "/v1/responses")).toMatchObject({
    status: 405,
    allow: "POST",
    body: { error: { code: "method_not_allowed" } },
  });
});

it("every other path is Agent Lightning's, but for those of an attempt", async () => {
  expect(await refused("POST", "/r/x/0/train/nowhere")).toMatchObject({ body: { error: { code: "unknown_path" } } });
  expect(await refused("GET", "/nowhere")).toEqual({ status: 404, allow: null, body: { detail: "Not Found" } });
  expect(await refused("GET", "/v2/chat")).toMatchObject({ body: { detail: "Not Found" } });
  expect(await refused("PATCH", "/api/rollouts")).toMatchObject({
    status: 405,
    body: { detail: "Method Not Allowed" },
  });
});
