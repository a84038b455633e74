/** Writes to the store named by the first argument as fast as it can and prints each acknowledged number, until killed. */
import { writeSync } from "node:fs";
import { systemClock } from "../../src/platform/clock.ts";
import { nodeSqlite } from "../../src/platform/node_sqlite.ts";
import { newRollout } from "../../src/schema/rollout.ts";
import { openSqlStore } from "../../src/store/sql_store.ts";
import { call, event } from "./samples.ts";

const [path = "", run = ""] = process.argv.slice(2);
const lease = { owner: `writer:${run}`, isGone: () => true };
const store = await openSqlStore({ driver: nodeSqlite, clock: systemClock, path, lease });

/** A conversation in one rollout, each call with a note; several write at once. */
async function converse(rolloutId: string): Promise<void> {
  await store.append([{ type: "rollout_created", rollout: newRollout({ input: rolloutId }, rolloutId, 1) }]);
  const ids = [1, 2, 3];
  for (let turn = 0; ; turn++) {
    const id = `${rolloutId}.${turn}`;
    const parent = turn === 0 ? {} : { parent: `${rolloutId}.${turn - 1}`, prefixLength: ids.length - 1 };
    const record = call(id, rolloutId, ids, [turn], parent);
    await store.append([
      { type: "call_recorded", call: record },
      { type: "event_posted", event: event(rolloutId, "note", { id }) },
    ]);
    writeSync(1, `${id}\n`);
    ids.push(turn, 7);
  }
}

await Promise.all([0, 1, 2].map((n) => converse(`${run}-${n}`)));
