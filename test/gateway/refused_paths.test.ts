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
  expect((await refused("POST", "/v1/messages/batches/1/cancel")).body).toMatchObject(form);
  const headers = { "anthropic-version": "2023-06-01" };
  expect((await refused("GET", "/v1/organizations/me", headers)).body).toMatchObject(form);
});

it("Gemini's in Gemini's", async () => {
  for (const version of ["v1beta", "v1alpha"]) {
    const { status, body } = await refused("POST", `/${version}/cachedContents`);
    expect([status, body]).toEqual([404, { error: expect.objectContaining({ code: 404, status: "NOT_FOUND" }) }]);
  }
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

it("every other path is Agent Lightning's", async () => {
  expect(await refused("GET", "/nowhere")).toEqual({ status: 404, allow: null, body: { detail: "Not Found" } });
  expect(await refused("GET", "/v2/chat")).toMatchObject({ body: { detail: "Not Found" } });
  expect(await refused("PATCH", "/api/rollouts")).toMatchObject({
    status: 405,
    body: { detail: "Method Not Allowed" },
  });
});
