// Plain JavaScript of an old standard, loaded before anything else: a Node that cannot even read TypeScript must still
// say what is wrong with it.

/** Oldest versions, major and minor: node:sqlite and TypeScript without flags; WebGPU without a flag. */
export const floors = { node: [24, 15], deno: [2, 9] };

/** The error object for a runtime that is too old, or null; `versions` as in process.versions. */
export function tooOld(versions) {
  const runtime = versions.deno ? "deno" : "node";
  const [major, minor] = versions[runtime].split(".").map(Number);
  const [floorMajor, floorMinor] = floors[runtime];
  if (major > floorMajor || (major === floorMajor && minor >= floorMinor)) return null;
  const name = runtime === "deno" ? "Deno" : "Node";
  const advice = {
    node: 'Install a newer Node. In a clone, "npm ci" brings one for npm scripts (npm run …) unless install scripts are off.',
    deno: 'Run "deno upgrade".',
  };
  return {
    code: "runtime_too_old",
    message: `${name} ${versions[runtime]} is too old; Leyden needs ${floorMajor}.${floorMinor} or later.`,
    do: advice[runtime],
  };
}

const error = tooOld(process.versions);
if (error !== null) {
  if (process.argv.includes("--json")) console.log(JSON.stringify({ error }));
  else console.error(`error [${error.code}]: ${error.message}\n${error.do}`);
  process.exit(3);
}
