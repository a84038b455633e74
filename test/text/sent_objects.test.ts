/** Objects that cross a port once. */
import { expect, it } from "vitest";
import { ReceivedObjects, SentObjects } from "../../src/text/sent_objects.ts";

it("an object goes along once, and again where it is asked for", () => {
  const sent = new SentObjects();
  const [a, b] = [{ text: "a" }, { text: "b" }];
  expect([sent.refer(a, false), sent.refer(b, false), sent.refer(a, false)]).toEqual([[1, a], [2, b], 1]);
  expect(sent.refer(a, true)).toEqual([1, a]);
});

it("the receiver gives the same object for a name, and says which it has dropped", () => {
  const received = new ReceivedObjects(1000);
  const object = { text: "x" };
  expect(received.take([1, object])).toBe(object);
  expect(received.take(1)).toBe(object);
  expect(received.take(2)).toBeUndefined();
});

it("keeps what is used, while others come and go", () => {
  const received = new ReceivedObjects(1000);
  const long = (name: number) => [name, { text: "x".repeat(300) }] as const;
  received.take(long(0));
  for (let name = 1; name < 30; name++) {
    received.take(long(name));
    expect(received.take(0), String(name)).toBeDefined();
  }
  expect(received.take(1)).toBeUndefined();
  expect(received.take(29)).toBeDefined();
});
