import { execPath } from "node:process";
import { describe, expect, it } from "vitest";
import { PeerProcess } from "../../src/bench/peer_process.ts";
import { parseReady, parseStep, stepLine } from "../../src/bench/peer_protocol.ts";
import { pairsOf } from "../../src/bench/peers.ts";
import { systemClock } from "../../src/platform/clock.ts";

const ready = `console.log('{"library":"fake 1.2"}');`;

/** A peer whose program is this text. */
function start(program: string): Promise<PeerProcess> {
  return PeerProcess.start({ peer: "fake", command: execPath, args: ["-e", program], clock: systemClock });
}

describe("the lines of a peer", () => {
  it("asks for steps and reads what they took", () => {
    expect(stepLine(3)).toBe("step 3\n");
    expect(parseStep("fake", '{"ms":1.5,"cpu_ms":2,"value":6.25}')).toEqual({ ms: 1.5, cpuMs: 2, value: 6.25 });
  });

  it("says which peer is absent, and why", () => {
    expect(parseReady("fake", '{"library":"fake 1.2"}')).toBe("fake 1.2");
    expect(() => parseReady("fake", '{"absent":"no such package"}')).toThrow("fake is not here: no such package");
  });

  it.each(["hello", "{}", '{"ms":1,"cpu_ms":1,"value":null}', '{"ms":0,"cpu_ms":1,"value":1}'])(
    "refuses %s",
    (line) => {
      expect(() => parseStep("fake", line)).toThrow(`fake answered ${JSON.stringify(line)}.`);
    },
  );
});

describe("a peer's process", () => {
  it("does the steps of each line and ends when it is closed", async () => {
    const peer = await start(
      `${ready} require("node:readline").createInterface({ input: process.stdin }).on("line", (line) =>
        console.log(JSON.stringify({ ms: 2, cpu_ms: 1, value: Number(line.split(" ")[1]) })));`,
    );
    expect(peer.library).toBe("fake 1.2");
    expect(await peer.step(4)).toEqual({ ms: 2, cpuMs: 1, value: 4 });
    expect(await peer.step(5)).toMatchObject({ value: 5 });
    await peer.close();
    await expect(peer.step(1)).rejects.toMatchObject({ code: "peer_failed" });
  });

  it("says the last words of one that ends", async () => {
    const peer =
      await start(`${ready} process.stdin.once("data", () => { console.error("x\\nout of it"); process.exitCode = 1;
      process.stdin.destroy(); });`);
    await expect(peer.step(1)).rejects.toMatchObject({
      code: "peer_failed",
      message: "fake ended without an answer: out of it.",
    });
    await peer.close();
  });

  it("fails for a program that is not there", async () => {
    const command = { peer: "fake", command: "/nowhere/fake", args: [], clock: systemClock };
    await expect(PeerProcess.start(command)).rejects.toMatchObject({
      code: "peer_failed",
      message: expect.stringContaining("ENOENT"),
    });
  });
});

describe("what is compared", () => {
  it("is every product with every peer, and the training step with those that train", () => {
    expect(pairsOf([])).toHaveLength(4 * 5 + 3);
    expect(pairsOf(["gpt_step"]).map(([, peer]) => peer)).toEqual(["jax-js-webgpu", "jax-js-wasm", "tfjs-webgpu"]);
  });

  it("can be restricted by work, by peer and by both", () => {
    expect(pairsOf(["ort-cpu"]).map(([work]) => work)).toEqual([
      "matmul_512_nn",
      "matmul_1024_nn",
      "matmul_512_nt",
      "matmul_512_tn",
    ]);
    expect(pairsOf(["ort-cpu", "tfjs-webgpu", "matmul_512_nt"])).toEqual([
      ["matmul_512_nt", "tfjs-webgpu"],
      ["matmul_512_nt", "ort-cpu"],
    ]);
  });
});
