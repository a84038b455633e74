/** Chat requests of real programs, as captured: none is refused, and nothing they send breaks a record. */
import { readFileSync } from "node:fs";
import { describe, expect } from "vitest";
import { itShared } from "../shared.ts";
import { AppClient } from "./app_client.ts";

interface Capture {
  file: string;
  dialect: string | null;
  path: string;
}

describe("captured requests", () => {
  itShared("of chat completions are answered and recorded as they came", "captures/index.json", async (index) => {
    const { captures } = JSON.parse(readFileSync(index, "utf8")) as { captures: Capture[] };
    const chats = captures.filter((capture) => capture.dialect === "chat");
    expect(chats.length).toBeGreaterThan(10);
    const client = new AppClient();
    client.engine.contextLength = 1_000_000;
    for (const [at, { file }] of chats.entries()) {
      const { body } = JSON.parse(readFileSync(index.replace("index.json", file), "utf8")) as {
        body: Record<string, unknown>;
      };
      const id = `capture-${at}`;
      await client.create(id);
      const response = await client.chat(id, body);
      expect(response.status, `${file}: ${response.status === 200 ? "" : await response.clone().text()}`).toBe(200);
      const text = await response.text();
      if (body.stream) expect(text, file).toMatch(/data: \[DONE\]\n\n$/);
      const [call] = await client.calls(id);
      expect(call?.request.messages, file).toEqual(body.messages);
      expect(call?.request.tools, file).toEqual(body.tools);
    }
  });
});
