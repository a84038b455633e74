import type { EngineParts } from "./engine_parts.ts";
import { isLoss } from "./faults.ts";
import type { Job } from "./jobs.ts";

/** What is asked of the models beside generating and training, answered one by one in the order it was asked in. */
export class Questions {
  private readonly queue: Job<(parts: EngineParts) => Promise<unknown>, unknown>[] = [];

  /** True while an answer is waited for. */
  get areWaiting(): boolean {
    return this.queue.length > 0;
  }

  /** Puts a question behind the others. */
  ask<Result>(question: (parts: EngineParts) => Promise<Result>): Promise<Result> {
    return new Promise<unknown>((resolve, reject) => {
      this.queue.push({ request: question, resolve, reject });
    }) as Promise<Result>;
  }

  /** Answers the first one; when the device is lost over it, it stays the first. @throws DeviceError "device_lost" */
  async answer(parts: EngineParts): Promise<void> {
    const [job] = this.queue;
    try {
      job?.resolve(await job.request(parts));
    } catch (thrown) {
      if (isLoss(thrown)) throw thrown;
      job?.reject(thrown);
    }
    this.queue.shift();
  }

  /** Rejects everything that waits. */
  rejectAll(error: unknown): void {
    for (const job of this.queue.splice(0)) job.reject(error);
  }
}
