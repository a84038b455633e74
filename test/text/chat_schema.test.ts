import { describe, expect, it } from "vitest";
import { chatRequestSchema } from "../../src/schema/chat.ts";

describe("chat request schema", () => {
  it("keeps keys it does not know and fills in what agents leave out", () => {
    const request = {
      messages: [
        { role: "user", content: [{ type: "text", text: "q", cache_control: {} }], __copilotMessageSource: "x" },
        {
          role: "assistant",
          content: null,
          refusal: null,
          tool_calls: [{ id: "c", function: { name: "f" }, index: 0 }],
        },
        { role: "tool", tool_call_id: "c", content: [{ type: "text", text: "r", role: "tool", refusal: null }] },
        { role: "assistant" },
      ],
      tools: [{ type: "function", function: { name: "f", strict: false, parameters: { $schema: "s", anyOf: [] } } }],
      drop_params: true,
    };
    expect(chatRequestSchema.parse(request)).toEqual({
      ...request,
      messages: [
        request.messages[0],
        {
          ...request.messages[1],
          tool_calls: [{ id: "c", type: "function", function: { name: "f", arguments: "{}" }, index: 0 }],
        },
        request.messages[2],
        request.messages[3],
      ],
    });
  });

  it.each([
    { messages: [] },
    { messages: [{ role: "wizard", content: "x" }] },
    { messages: [{ role: "user", content: 3 }] },
    { messages: [{ role: "user", content: "x" }], tools: [{ type: "function" }] },
  ])("refuses %j", (request) => {
    expect(chatRequestSchema.safeParse(request).success).toBe(false);
  });
});
