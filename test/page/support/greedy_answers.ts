/** What a model answers greedily: asked in the page's chat, and in Node from the checkpoint that the page gave out. */
import { join } from "node:path";
import { unzipSync } from "fflate";
import type { Page } from "playwright-core";
import { createApp } from "../../../gateway/app.ts";
import { openServedModel } from "../../../src/app/open_served_model.ts";
import { platform } from "../../../src/platform/node.ts";
import { MemoryStore } from "../../../src/store/memory_store.ts";

/** Requests that Node has under way together. */
const atOnce = 25;
/** As the page's chat asks. */
const maxTokens = 128;

interface Message {
  readonly content: string | null;
  readonly tool_calls?: readonly { readonly function: { readonly name: string; readonly arguments: string } }[];
}

/** Asks questions that all differ, one after the other, in the chat of a page whose model is open; every reply there is. */
export function answersInPage(page: Page, questions: readonly string[]): Promise<string[]> {
  return page.evaluate(async (asked) => {
    const log = document.querySelector("[role=log]");
    const field = document.querySelector<HTMLInputElement>("input[name=message]");
    const form = field?.form;
    if (!log || !field || !form) throw new Error("The page has no chat.");
    const replies = (): Element[] => [...log.querySelectorAll(".pg-reply:not(.pg-mine)")];
    const isBusy = (): boolean => form.querySelector<HTMLButtonElement>("button[type=submit]")?.disabled ?? true;
    const frame = (): Promise<number> => new Promise((resolve) => requestAnimationFrame(resolve));
    const before = replies().length;
    for (const [i, question] of asked.entries()) {
      field.value = question;
      form.requestSubmit();
      do {
        await frame();
        const fault = form.closest("section")?.querySelector("[role=alert]")?.textContent;
        if (fault) throw new Error(`The chat says: ${fault}`);
      } while (replies().length <= before + i || isBusy());
    }
    // The reply itself stands between who gave it and that it was cut.
    return replies()
      .map((reply) => [...reply.childNodes].filter((node) => node.nodeType === Node.TEXT_NODE))
      .map((texts) => texts.map((node) => node.textContent).join(""));
  }, questions);
}

/** Unpacks the archive of a checkpoint below a folder; where the model lies. */
export async function unpackCheckpoint(zip: Uint8Array, folder: string): Promise<string> {
  for (const [path, bytes] of Object.entries(unzipSync(zip))) {
    if (bytes.length > 0) await platform.files.write(join(folder, path), bytes);
  }
  const inside = await platform.files.list(folder);
  const nested = inside.find(({ kind }) => kind === "folder");
  const isHere = inside.some(({ name }) => name === "model.safetensors");
  return isHere || nested === undefined ? folder : join(folder, nested.name);
}

/** Asks the model of a folder in Node, as the page's chat does. */
export async function answersInNode(modelFolder: string, questions: readonly string[]): Promise<string[]> {
  const model = await openServedModel(platform, modelFolder);
  const { clock, entropy } = platform;
  const app = createApp({ store: new MemoryStore(), model, clock, entropy, config: { key: "" } });
  const ask = async (content: string): Promise<string> => {
    const messages = [{ role: "user", content }];
    const body = JSON.stringify({ model: "policy", messages, max_tokens: maxTokens, temperature: 0 });
    const init = { method: "POST", headers: { "content-type": "application/json" }, body };
    const answer = await (await app.request("http://127.0.0.1/v1/chat/completions", init)).json();
    return shown(answer.choices[0].message as Message);
  };
  const out: string[] = [];
  for (let at = 0; at < questions.length; at += atOnce) {
    out.push(...(await Promise.all(questions.slice(at, at + atOnce).map(ask))));
  }
  await model.engine.close();
  return out;
}

/** A message as the chat shows it: its text, then its calls. */
function shown({ content, tool_calls: calls = [] }: Message): string {
  const made = calls.map(({ function: f }) => `${f.name}(${f.arguments})`);
  return [content ?? "", ...made].filter((part) => part !== "").join("\n");
}
