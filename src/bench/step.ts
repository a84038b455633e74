import { LeydenError } from "../core/errors.ts";
import { PeerStep, peerLosses } from "./peer_step.ts";
import { peerSizes } from "./peer_work.ts";
import type { Suite } from "./suite.ts";

/** Losses may differ from those of other libraries by this much. */
const lossTolerance = 2e-4;

/** The training step that other WebGPU libraries are measured with as well. */
export const stepSuite: Suite = {
  name: "step",
  summary: "a whole training step of a small decoder, the one other libraries are measured with",
  async *run({ openDevice, clock, repeats }) {
    const device = await openDevice();
    try {
      const peer = new PeerStep(device, clock);
      for (const [i, known] of peerLosses.entries()) requireLoss(i + 1, (await peer.step()).loss, known);
      const samples: number[] = [];
      for (let i = 0; i < repeats; i++) {
        const start = clock.monotonic();
        await peer.step();
        samples.push(clock.monotonic() - start);
      }
      yield { name: "gpt_step", samples, facts: peerSizes };
      peer.dispose();
    } finally {
      device.close();
    }
  },
};

/** @throws LeydenError "bench_result" when the step computes something else, whose time would say nothing */
function requireLoss(step: number, loss: number, known: number): void {
  if (Math.abs(loss - known) <= lossTolerance) return;
  const message = `Step ${step} has loss ${loss.toFixed(4)}; other libraries agree on ${known}.`;
  throw new LeydenError("bench_result", message, { do: "Run npm test: a kernel computes wrong results here." }, 1);
}
