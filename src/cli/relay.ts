import { pageFiles } from "../app/page_build/page_files.ts";
import { Relay } from "../app/relay/relay.ts";
import { serveRelay } from "../app/relay/relay_server.ts";
import { hex } from "../core/clock.ts";
import type { Command, CommandContext } from "./command.ts";

/** `leyden relay`: programs on this computer use the model of a tab. */
export const command: Command = {
  name: "relay",
  summary: "Serves the page to this computer's browser, so that programs here use the model in its tab.",
  options: {
    port: { kind: "integer", value: "N", summary: "Port to listen on; 0 takes a free one.", fallback: 0, min: 0 },
  },
  run: relay,
};

/** Variables that point a program at the relay; each reads those of its dialect. */
function environmentOf(url: string, key: string): Record<string, string> {
  return {
    OPENAI_BASE_URL: `${url}/v1`,
    OPENAI_API_KEY: key,
    ANTHROPIC_BASE_URL: url,
    ANTHROPIC_API_KEY: key,
    GOOGLE_GEMINI_BASE_URL: url,
    GEMINI_API_KEY: key,
  };
}

async function relay({ args, platform, json, print, printJson, note, stopSignal }: CommandContext): Promise<number> {
  const stop = stopSignal();
  platform.terminal.outliveReader();
  const key = hex(platform.entropy.bytes(24));
  const page = pageFiles(platform, { kind: "relay", needsKey: false, room: false });
  const relayed = new Relay({ entropy: platform.entropy, page, key, say: note });
  const served = await serveRelay(relayed, args.requireNumber("port"));
  const address = `${served.url}/studio/#relay=${relayed.nextToken}`;
  const env = environmentOf(served.url, key);
  if (json) printJson({ url: served.url, page: address, env });
  else {
    print(`Open this address in a browser on this computer; it works once:\n  ${address}`);
    print('Choose an experiment there and press "Open, and wait". Then, where your program runs:');
    for (const [name, value] of Object.entries(env)) print(`  export ${name}=${value}`);
    print(`Each program can have records of its own: put /as/NAME between the address and the rest, as in`);
    print(`  export OPENAI_BASE_URL=${served.url}/as/my-run/v1`);
    note("Ctrl+C stops.");
  }
  if (!stop.aborted) await new Promise((resolve) => stop.addEventListener("abort", resolve, { once: true }));
  await served.close();
  return 0;
}
