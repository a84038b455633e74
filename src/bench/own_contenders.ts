import { cpuUsage } from "node:process";
import type { Clock } from "../core/clock.ts";
import type { Device } from "../gpu/device.ts";
import type { Contender, StepTime } from "./contest.ts";
import { PeerStep } from "./peer_step.ts";
import { type PeerWorkName, peerWorks } from "./peer_work.ts";
import { SquareProduct } from "./square_product.ts";

/** Leyden at a piece of work, in this process. */
export async function openOwn(name: PeerWorkName, device: Device, clock: Clock): Promise<Contender> {
  const work = peerWorks[name];
  return work.kind === "gpt_step" ? ownStep(device, clock) : ownProduct(device, clock, work.size, work.form);
}

async function ownProduct(
  device: Device,
  clock: Clock,
  size: number,
  form: Parameters<typeof SquareProduct.create>[2],
): Promise<Contender> {
  const product = await SquareProduct.create(device, size, form);
  return {
    async step(count) {
      const times = await timed(clock, count, async () => void (await product.time(clock, count)));
      return { ...times, value: await product.first() };
    },
    close: async () => product.dispose(),
  };
}

function ownStep(device: Device, clock: Clock): Contender {
  const training = new PeerStep(device, clock);
  return {
    async step(count) {
      let value = Number.NaN;
      const times = await timed(clock, count, async () => {
        for (let i = 0; i < count; i++) value = (await training.step()).loss;
        await device.idle();
      });
      return { ...times, value };
    },
    close: async () => training.dispose(),
  };
}

/** Milliseconds of one of `count` steps. */
async function timed(clock: Clock, count: number, run: () => Promise<void>): Promise<Pick<StepTime, "ms" | "cpuMs">> {
  const cpuMs = () => {
    const { user, system } = cpuUsage();
    return (user + system) / 1000;
  };
  const [start, cpuStart] = [clock.monotonic(), cpuMs()];
  await run();
  return { ms: (clock.monotonic() - start) / count, cpuMs: (cpuMs() - cpuStart) / count };
}
