import { openServedModel } from "../app/open_served_model.ts";
import { asLeydenError } from "../core/errors.ts";
import { didYouMean } from "../core/nearest.ts";
import type { Command, CommandContext } from "./command.ts";
import { Conversation, type ConversationTurn } from "./conversation.ts";
import { modelFolderOf } from "./model_place.ts";
import { samplingOf, seedOf, temperatureOptions } from "./sampling_options.ts";
import { singleSequence } from "./single_sequence.ts";
import { visible } from "./visible_text.ts";

const defaultTemperature = 0.7;

/** `leyden chat`: a conversation with a model, line by line. */
export const command: Command = {
  name: "chat",
  summary: "Talks with a model: a line in, a reply out; also through pipes.",
  options: {
    model: { kind: "text", value: "DIR", summary: "Model folder, checkpoint, or run (its newest checkpoint)." },
    system: { kind: "text", value: "TEXT", summary: "System message." },
    tokens: { kind: "integer", value: "N", summary: "Most tokens of a reply.", fallback: 512, min: 1 },
    ...temperatureOptions(defaultTemperature),
  },
  run: chat,
};

async function chat(context: CommandContext): Promise<number> {
  const { args, platform } = context;
  const folder = await modelFolderOf(platform.files, args.requireText("model"));
  const sampling = samplingOf(args, defaultTemperature);
  const options = await singleSequence(platform.files, folder, Number.POSITIVE_INFINITY);
  const { engine, format: codec } = await openServedModel(platform, folder, options);
  try {
    const conversation = new Conversation({
      engine,
      codec,
      system: args.text("system") ?? "",
      sampling,
      maxTokens: args.requireNumber("tokens"),
      seed: seedOf(args, platform.entropy),
    });
    return await talk(context, conversation);
  } finally {
    await engine.close();
  }
}

const lineCommands = ["/reset", "/quit"];

/**
 * Reads lines until the end or /quit and prints a reply to each. A line that fails is reported and the conversation
 * goes on without it; the exit code is that of the last failure.
 */
export async function talk(
  context: CommandContext,
  conversation: Pick<Conversation, "say" | "reset">,
): Promise<number> {
  const { terminal } = context.platform;
  const isAtScreen = terminal.isScreen && !context.json;
  const ask = (): void => {
    if (isAtScreen) terminal.out("> ");
  };
  let code = 0;
  if (isAtScreen) context.note("Type a message. /reset starts over, /quit ends.");
  ask();
  for await (const raw of terminal.lines()) {
    const line = raw.trim();
    if (line === "/quit") break;
    if (line === "/reset") conversation.reset();
    else if (/^\/\w+$/.test(line)) context.note(`There is no ${line} here. ${didYouMean(line, lineCommands)}`);
    else if (line !== "") code = (await answer(context, conversation, line)) ?? code;
    ask();
  }
  return code;
}

/** Prints the reply to a line, or why there is none; returns the error's exit code then. */
async function answer(
  context: CommandContext,
  conversation: Pick<Conversation, "say">,
  line: string,
): Promise<number | null> {
  try {
    printTurn(context, await conversation.say(line));
    return null;
  } catch (thrown) {
    const error = asLeydenError(thrown);
    if (context.json) context.printJson({ error });
    else context.note(`error [${error.code}]: ${error.message} ${error.do}`.trimEnd());
    return error.exitCode;
  }
}

function printTurn(context: CommandContext, turn: ConversationTurn): void {
  const { reply, finishReason } = turn;
  if (context.json) {
    context.printJson({
      reply: reply.content ?? reply.text,
      reasoning: reply.reasoningContent,
      finish_reason: finishReason,
      prompt_tokens: turn.promptTokens,
      cached_tokens: turn.cachedTokens,
      reply_tokens: turn.replyTokens,
    });
    return;
  }
  context.print(visible(reply.content ?? reply.text));
  if (finishReason === "length") context.note("The reply was cut at the limit of --tokens or of the model's context.");
}
