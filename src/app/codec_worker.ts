import { platform } from "#platform";
import { asLeydenError } from "../core/errors.ts";
import { readTokenizerFiles } from "../io/tokenizer_folder.ts";
import { ChatFormat } from "../text/chat_format.ts";
import { serveCodec } from "../text/codec_server.ts";
import type { CodecWorkerHello, CodecWorkerStart } from "./open_codec.ts";

const port = platform.workerPort();
let opened = false;

port.onMessage((message) => {
  const start = message as CodecWorkerStart;
  if (opened || start.kind !== "codec_open") return;
  opened = true;
  void open(start).then((hello) => port.post(hello));
});

async function open({ modelFolder, dateMs }: CodecWorkerStart): Promise<CodecWorkerHello> {
  try {
    const files = await readTokenizerFiles(platform.files, modelFolder);
    serveCodec(ChatFormat.load(files, { date: new Date(dateMs) }), port);
    return { kind: "codec_ready" };
  } catch (thrown) {
    const error = asLeydenError(thrown);
    return { kind: "codec_failed", error: { ...error.toJSON(), exitCode: error.exitCode } };
  }
}
