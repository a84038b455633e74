import type { ServedCodec, ServedModel } from "../../gateway/deps.ts";
import { LeydenError } from "../core/errors.ts";
import { readTokenizerFiles } from "../io/tokenizer_folder.ts";
import type { Platform, WorkerHandle } from "../schema/platform.ts";
import { ChatFormat } from "../text/chat_format.ts";
import { CodecClient } from "../text/codec_port.ts";

/** First message of a worker: it is ready, or why it is not. */
export type CodecWorkerHello =
  | { readonly kind: "codec_ready" }
  | {
      readonly kind: "codec_failed";
      readonly error: { code: string; message: string; do: string; exitCode: 1 | 2 | 3 | 4 };
    };

/** First message to a worker. */
export interface CodecWorkerStart {
  readonly kind: "codec_open";
  readonly modelFolder: string;
  /** The day that templates are told, in milliseconds since the epoch. */
  readonly dateMs: number;
}

/** A gateway's half of a model: how its tokens are text. */
export interface OpenedCodec extends Pick<ServedModel, "codec" | "tokenText" | "tokenBytes"> {
  /** The same here, for whoever can wait for it. */
  readonly format: ChatFormat;
  close(): Promise<void>;
}

/**
 * The chat format of a model folder: replies are read here, prompts are rendered and encoded in a worker.
 * @throws LeydenError "tokenizer_json" | "template_error" | "file_missing"
 */
export async function openCodec(platform: Platform, modelFolder: string): Promise<OpenedCodec> {
  const dateMs = platform.clock.now();
  const worker = platform.spawnWorker(new URL("./codec_worker.ts", import.meta.url));
  const ready = hello(worker, { kind: "codec_open", modelFolder, dateMs });
  // Both read the folder at once; what is wrong with it is said once.
  ready.catch(() => {});
  let format: ChatFormat;
  try {
    format = ChatFormat.load(await readTokenizerFiles(platform.files, modelFolder), { date: new Date(dateMs) });
    await ready;
  } catch (thrown) {
    await worker.terminate();
    throw thrown;
  }
  const client = new CodecClient(worker);
  worker.onError((error) => client.fail(error));
  const codec: ServedCodec = {
    stopIds: format.stopIds,
    parseReply: (ids, templateArgs, tools) => format.parseReply(ids, templateArgs, tools),
    encodeReply: (reply, templateArgs) => format.encodeReply(reply, templateArgs),
    thinkingEnd: (templateArgs) => format.thinkingEnd(templateArgs),
    encodeRequest: (request, recorded) => client.encodeRequest(request, recorded),
    encodeText: (text, continues) => client.encodeText(text, continues),
  };
  const tokenText = (id: number): string => format.tokenizer.decode([id], { continuation: true });
  const tokenBytes = (id: number): Uint8Array => format.tokenizer.tokenBytes(id);
  const close = async (): Promise<void> => {
    client.fail(new LeydenError("codec_closed", "The codec was closed while prompts were being encoded.", {}, 2));
    await worker.terminate();
  };
  return { codec, tokenText, tokenBytes, format, close };
}

async function hello(worker: WorkerHandle, start: CodecWorkerStart): Promise<void> {
  const first = await new Promise<CodecWorkerHello>((resolve, reject) => {
    worker.onError(reject);
    worker.onMessage((message) => resolve(message as CodecWorkerHello));
    worker.post(start);
  });
  if (first.kind === "codec_ready") return;
  const { code, message, exitCode } = first.error;
  throw new LeydenError(code, message, { do: first.error.do }, exitCode);
}
