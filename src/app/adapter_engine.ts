import type { Engine } from "../schema/engine.ts";

/** An engine whose generations are one adapter's: what a policy of several is served by. */
export function adapterEngine(engine: Engine, adapter: string): Engine {
  return {
    info: () => engine.info(),
    stats: () => engine.stats(),
    generate: (request) => engine.generate({ ...request, adapter }),
    score: (request) => engine.score({ ...request, adapter }),
    scoreRows: (request) => engine.scoreRows({ ...request, adapter }),
    updateCritic: (request) => engine.updateCritic({ ...request, adapter }),
    accumulate: (request) => engine.accumulate({ ...request, adapter }),
    update: (request) => engine.update({ ...request, adapter }),
    drain: () => engine.drain(),
    resume: () => engine.resume(),
    snapshot: (options) => engine.snapshot(options),
    cancel: (id) => engine.cancel(id),
    close: () => engine.close(),
  };
}
