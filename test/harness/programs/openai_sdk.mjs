/** The openai package: a loop over chat completions, its own tool runner, streams, and Responses with stored turns. */
import OpenAI from "openai";
import { heard, instructions, question, tell, toolSpecs } from "./report.mjs";

const client = new OpenAI();
const model = "policy";
const start = [
  { role: "system", content: instructions },
  { role: "user", content: question },
];
const named = Object.entries(toolSpecs);
const tools = named.map(([name, { description, parameters }]) => ({
  type: "function",
  function: { name, description, parameters },
}));

const fromChat = ({ content, tool_calls: calls = [] }) =>
  heard(
    content,
    calls.map(({ id, function: f }) => ({ id, name: f.name, args: JSON.parse(f.arguments) })),
  );

const variants = {
  /** A loop of one's own. */
  async chat() {
    const messages = [...start];
    const replies = [];
    for (;;) {
      const { choices } = await client.chat.completions.create({ model, messages, tools });
      const { message } = choices[0];
      messages.push(message);
      replies.push(fromChat(message));
      if (!message.tool_calls?.length) return replies;
      for (const { id, function: f } of message.tool_calls) {
        messages.push({ role: "tool", tool_call_id: id, content: toolSpecs[f.name].run(JSON.parse(f.arguments)) });
      }
    }
  },

  /** The package's runner, streaming. */
  async runner() {
    const runnable = named.map(([name, { description, parameters, run }]) => ({
      type: "function",
      function: { name, description, parameters, parse: JSON.parse, function: run },
    }));
    const runner = client.chat.completions.runTools({ model, messages: start, tools: runnable, stream: true });
    await runner.done();
    return runner.messages.filter(({ role }) => role === "assistant").map(fromChat);
  },

  /** Responses: each request brings what is new and the id of the response before. */
  async responses() {
    const flat = tools.map(({ function: f }) => ({ type: "function", ...f, strict: false }));
    const replies = [];
    let input = question;
    let previous;
    for (;;) {
      const stream = client.responses.stream({
        model,
        instructions,
        input,
        tools: flat,
        ...(previous ? { previous_response_id: previous } : {}),
      });
      const response = await stream.finalResponse();
      const calls = response.output.filter(({ type }) => type === "function_call");
      const args = calls.map((call) => ({ id: call.call_id, name: call.name, args: JSON.parse(call.arguments) }));
      replies.push(heard(response.output_text, args));
      if (calls.length === 0) return replies;
      previous = response.id;
      input = args.map(({ id, name, args: given }) => ({
        type: "function_call_output",
        call_id: id,
        output: toolSpecs[name].run(given),
      }));
    }
  },
};

tell(await variants[process.argv[2]]());
