import { fileURLToPath } from "node:url";
import { EnvironmentError } from "../core/errors.ts";
import type { Device } from "../gpu/device.ts";
import { measurementOf, takeTurns } from "./contest.ts";
import { OtherLoad } from "./other_load.ts";
import { openOwn } from "./own_contenders.ts";
import { installPeers } from "./peer_install.ts";
import { PeerProcess } from "./peer_process.ts";
import { type PeerWorkName, peerWorks } from "./peer_work.ts";
import type { BenchContext, Measurement, Suite } from "./suite.ts";

const workNames = Object.keys(peerWorks) as PeerWorkName[];
/** ONNX Runtime has no training. */
const peers: Readonly<Record<string, readonly PeerWorkName[]>> = {
  "jax-js-webgpu": workNames,
  "jax-js-wasm": workNames,
  "tfjs-webgpu": workNames,
  "ort-webgpu": workNames.filter((name) => name !== "gpt_step"),
  "ort-cpu": workNames.filter((name) => name !== "gpt_step"),
};
const choices = [...workNames, ...Object.keys(peers)];

/** Both in f32: losses near 6, products near 1, sums in different orders. */
const tolerance = 1e-3;
const restMs = 20;
const script = new URL("../../test/bench/peers/serve.mjs", import.meta.url);

/** Other libraries at the same work, taking turns with ours. */
export const peersSuite: Suite = {
  name: "peers",
  summary: "products and the training step beside other libraries, in turns (installs them into test/bench/peers)",
  choices,
  async *run(context) {
    const pairs = pairsOf(context.only);
    await prepare(context);
    const device = await context.openDevice();
    let measured = 0;
    try {
      for (const [work, peer] of pairs) {
        const measurement = await compare(context, device, work, peer);
        if (measurement === null) continue;
        measured += 1;
        yield measurement;
      }
    } finally {
      device.close();
    }
    if (measured === 0) {
      const advice = { do: "The lines above say why each is absent." };
      throw new EnvironmentError("no_peers", "None of the peers could be measured.", advice);
    }
  },
};

/** What is compared with what. Names of work and names of peers each restrict, when there are any. */
export function pairsOf(only: readonly string[]): (readonly [work: PeerWorkName, peer: string])[] {
  const wanted = (name: string, of: readonly string[]) =>
    only.includes(name) || !only.some((chosen) => of.includes(chosen));
  return workNames
    .filter((work) => wanted(work, workNames))
    .flatMap((work) =>
      Object.entries(peers)
        .filter(([peer, works]) => works.includes(work) && wanted(peer, Object.keys(peers)))
        .map(([peer]) => [work, peer] as const),
    );
}

/** A folder that cannot be installed into may hold some of the peers all the same; each says whether it is there. */
async function prepare({ platform, note }: BenchContext): Promise<void> {
  if (!(await platform.files.exists(fileURLToPath(script)))) {
    throw new EnvironmentError("no_clone", `There is no ${fileURLToPath(script)}.`, {
      do: "Run it in a clone of the repository.",
    });
  }
  try {
    await installPeers(platform, fileURLToPath(new URL(".", script)), note);
  } catch (thrown) {
    if (!(thrown instanceof EnvironmentError)) throw thrown;
    note(`${thrown.message} ${thrown.do}`.trimEnd());
  }
}

/** Null, and a note, when the peer is absent or fails. */
async function compare(
  { platform, clock, repeats, note }: BenchContext,
  device: Device,
  work: PeerWorkName,
  peer: string,
): Promise<Measurement | null> {
  const [command, ...args] = platform.scriptCommand(script);
  const ours = await openOwn(work, device, clock);
  try {
    const theirs = await PeerProcess.start({ peer, command, args: [...args, peer, work], clock });
    try {
      const load = new OtherLoad(platform.files, clock, theirs.pid === undefined ? ["self"] : ["self", theirs.pid]);
      await load.begin();
      const turns = await takeTurns(ours, theirs, { repeats, tolerance, rest: () => clock.sleep(restMs) });
      const { name, samples, facts } = measurementOf(work, peer, turns, await load.end());
      return { name, samples, facts: { ...facts, library: theirs.library } };
    } finally {
      await theirs.close();
    }
  } catch (thrown) {
    if (!(thrown instanceof EnvironmentError)) throw thrown;
    note(`${work}: ${thrown.message}`);
    return null;
  } finally {
    await ours.close();
  }
}
