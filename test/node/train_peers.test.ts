// The training step that other WebGPU libraries run too: same weights, same data, same losses.
import { afterAll, beforeAll, expect, it } from "vitest";
import { PeerStep, peerLosses } from "../../src/bench/peer_step.ts";
import { type Device, openDevice } from "../../src/gpu/device.ts";
import { platform } from "../../src/platform/node.ts";

let device: Device;

beforeAll(async () => {
  device = await openDevice(await platform.gpu());
});
afterAll(() => device.close());

it("gives the losses on which two other libraries agree", async () => {
  const peer = new PeerStep(device, platform.clock);
  for (const [i, want] of peerLosses.entries()) {
    const { loss } = await peer.step();
    expect(Math.abs(loss - want), `step ${i + 1}: ${loss}`).toBeLessThan(2e-4);
  }
  peer.dispose();
});
