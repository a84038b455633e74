import { describe, expect, it } from "vitest";
import { ScreenWakeLock } from "../../src/app/page/screen_wake_lock.ts";

/** A page whose browser answers when the test says so. */
class StubPage extends EventTarget {
  visibilityState: DocumentVisibilityState = "visible";
  /** Locks given and not given back. */
  readonly held = new Set<StubLock>();
  readonly asked: PromiseWithResolvers<WakeLockSentinel>[] = [];
  readonly document = this as unknown as Document;
  readonly wakeLock = {
    request: () => {
      const answer = Promise.withResolvers<WakeLockSentinel>();
      this.asked.push(answer);
      return answer.promise;
    },
  } as unknown as WakeLock;

  /** Gives what was asked for last. */
  async give(): Promise<void> {
    this.asked.at(-1)?.resolve(new StubLock(this.held) as unknown as WakeLockSentinel);
    await settled();
  }

  /** Shows or hides the page; a hidden one loses what it holds. */
  async show(visibilityState: DocumentVisibilityState): Promise<void> {
    this.visibilityState = visibilityState;
    if (visibilityState === "hidden") for (const lock of this.held) await lock.release();
    this.dispatchEvent(new Event("visibilitychange"));
    await settled();
  }
}

class StubLock extends EventTarget {
  private readonly held: Set<StubLock>;

  constructor(held: Set<StubLock>) {
    super();
    this.held = held;
    held.add(this);
  }

  async release(): Promise<void> {
    if (this.held.delete(this)) this.dispatchEvent(new Event("release"));
  }
}

const settled = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

describe("the screen's wake lock", () => {
  it("is asked for once, kept, and given back", async () => {
    const page = new StubPage();
    const lock = new ScreenWakeLock(page);
    lock.want(true);
    lock.want(true);
    await page.give();
    lock.want(true);
    expect([page.asked.length, page.held.size]).toEqual([1, 1]);
    lock.want(false);
    await settled();
    expect([page.asked.length, page.held.size]).toEqual([1, 0]);
  });

  it("is given back at once when the run has ended while it was asked for", async () => {
    const page = new StubPage();
    const lock = new ScreenWakeLock(page);
    lock.want(true);
    lock.want(false);
    await page.give();
    expect([page.asked.length, page.held.size]).toEqual([1, 0]);
  });

  it("is taken again when the page is looked at again, and only then", async () => {
    const page = new StubPage();
    const lock = new ScreenWakeLock(page);
    lock.want(true);
    await page.give();
    await page.show("hidden");
    lock.want(true);
    await settled();
    expect([page.asked.length, page.held.size]).toEqual([1, 0]);
    await page.show("visible");
    await page.give();
    expect([page.asked.length, page.held.size]).toEqual([2, 1]);
  });

  it("may be refused, and is asked for again at the next change", async () => {
    const page = new StubPage();
    const lock = new ScreenWakeLock(page);
    lock.want(true);
    page.asked[0]?.reject(new DOMException("The battery is low.", "NotAllowedError"));
    await settled();
    expect(page.asked.length).toBe(1);
    lock.want(true);
    await page.give();
    expect([page.asked.length, page.held.size]).toEqual([2, 1]);
    lock.close();
    await settled();
    await page.show("visible");
    expect([page.asked.length, page.held.size]).toEqual([2, 0]);
  });

  it("is nothing where the browser knows none", async () => {
    const page = new StubPage();
    const lock = new ScreenWakeLock({ wakeLock: undefined, document: page.document });
    lock.want(true);
    await page.show("visible");
    lock.close();
    expect(page.asked.length).toBe(0);
  });
});
