/** Attempts of more calls than stay in memory: what they continue is found in the store. */
import { expect, it } from "vitest";
import { emptyHash, hashOn, promptKey } from "../../gateway/calls/call_key.ts";
import { AppClient } from "./app_client.ts";

const user = (content: string) => ({ role: "user", content });
const said = (content: string) => ({ role: "assistant", content });

/** More calls than are remembered. */
async function fill(client: AppClient): Promise<void> {
  for (let n = 0; n < 140; n++) await client.ask("r", `other ${n}`);
}

it("a call that left memory long ago is continued verbatim, and so is what follows", async () => {
  const client = new AppClient();
  await client.create("r");
  client.engine.script = () => "first reply";
  await client.ask("r", "begin");
  client.engine.script = () => "ok";
  await fill(client);
  const messages = [user("begin"), said("first reply"), user("on")];
  await (await client.chat("r", { messages })).text();
  await (await client.chat("r", { messages: [...messages, said("ok"), user("further")] })).text();
  const calls = await client.calls("r");
  const [first, second, third] = [calls[0], calls.at(-2), calls.at(-1)];
  expect([second?.parent, second?.breakReason]).toEqual([first?.id, null]);
  expect([third?.parent, third?.breakReason]).toEqual([second?.id, null]);
  const whole = [...(first?.tokens.promptIds ?? []), ...(first?.tokens.replyIds ?? [])];
  expect([...(second?.tokens.promptIds ?? [])].slice(0, whole.length)).toEqual(whole);
});

it("one whose reply was never delivered is not", async () => {
  const client = new AppClient();
  await client.create("r");
  client.engine.script = () => "first reply";
  await (await client.chat("r", { messages: [user("begin")] })).body?.cancel();
  client.engine.script = () => "ok";
  await fill(client);
  await (await client.chat("r", { messages: [user("begin"), said("first reply"), user("on")] })).text();
  expect((await client.calls("r")).at(-1)).toMatchObject({ parent: null });
});

it("a prompt that is retried is drawn anew, however long ago it was sampled", async () => {
  const client = new AppClient();
  await client.create("r");
  await client.ask("r", "begin");
  await fill(client);
  await client.ask("r", "begin");
  const calls = await client.calls("r");
  const [first, last] = [calls[0]?.callKey.split("."), calls.at(-1)?.callKey.split(".")];
  expect([last?.[0], last?.[1]]).toEqual([first?.[0], "1"]);
});

it("a prompt has one key, hashed at once or on from the call that it continues", () => {
  const ids = Int32Array.from({ length: 50 }, (_, at) => (at * 7919) % 151_936);
  const settings = { temperature: 1 };
  const whole = promptKey("m", hashOn(emptyHash, ids), settings);
  for (const cut of [0, 1, 17, 50]) {
    expect(promptKey("m", hashOn(hashOn(emptyHash, ids.slice(0, cut)), ids, cut), settings)).toBe(whole);
  }
  expect(promptKey("m", hashOn(emptyHash, ids.slice(1)), settings)).not.toBe(whole);
});
