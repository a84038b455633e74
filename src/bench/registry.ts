import { asyncSuite } from "./async.ts";
import { decodeSuite } from "./decode.ts";
import { examplesSuite } from "./examples.ts";
import { loadSuite } from "./load.ts";
import { matmulSuite } from "./matmul.ts";
import { memorySuite } from "./memory.ts";
import { peersSuite } from "./peers.ts";
import { stepSuite } from "./step.ts";
import type { Suite } from "./suite.ts";
import { treeSuite } from "./tree.ts";

/** Every suite of `leyden bench`; to add one, write its file and add a line. */
export const suites: readonly Suite[] = [
  matmulSuite,
  stepSuite,
  decodeSuite,
  asyncSuite,
  memorySuite,
  peersSuite,
  treeSuite,
  examplesSuite,
  loadSuite,
];
