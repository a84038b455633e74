/** The @anthropic-ai/sdk package: streamed messages in a loop, and its own tool runner, which asks for threads. */
import Anthropic from "@anthropic-ai/sdk";
import { betaTool } from "@anthropic-ai/sdk/helpers/beta/json-schema";
import { heard, instructions, question, tell, toolSpecs } from "./report.mjs";

const client = new Anthropic();
const settings = { model: "policy", max_tokens: 1000, system: instructions };
const named = Object.entries(toolSpecs);

const fromContent = (content) =>
  heard(
    content.map((block) => (block.type === "text" ? block.text : "")).join(""),
    content.filter(({ type }) => type === "tool_use").map(({ id, name, input }) => ({ id, name, args: input })),
  );

const variants = {
  async messages() {
    const tools = named.map(([name, { description, parameters }]) => ({ name, description, input_schema: parameters }));
    const messages = [{ role: "user", content: question }];
    const replies = [];
    for (;;) {
      const { content } = await client.messages.stream({ ...settings, messages, tools }).finalMessage();
      messages.push({ role: "assistant", content });
      replies.push(fromContent(content));
      const calls = content.filter(({ type }) => type === "tool_use");
      if (calls.length === 0) return replies;
      const results = calls.map(({ id, name, input }) => ({
        type: "tool_result",
        tool_use_id: id,
        content: toolSpecs[name].run(input),
      }));
      messages.push({ role: "user", content: results });
    }
  },

  async runner() {
    const tools = named.map(([name, { description, parameters, run }]) =>
      betaTool({ name, description, inputSchema: parameters, run }),
    );
    const runner = client.beta.messages.toolRunner({
      ...settings,
      tools,
      messages: [{ role: "user", content: question }],
    });
    const replies = [];
    for await (const message of runner) replies.push(fromContent(message.content));
    return replies;
  },
};

tell(await variants[process.argv[2]]());
