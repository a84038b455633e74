import { tabExperiment } from "../../../src/app/tab/experiments.ts";
import { parseConfig } from "../../../src/experiment/config.ts";
import type { ExperimentConfig } from "../../../src/schema/experiment.ts";

/** The configuration of calc, as a run of it keeps it. */
export const calcConfig: ExperimentConfig = parseConfig(tabExperiment("calc").config);

/** The same as the text of a run's config.json. */
export const runConfig: string = JSON.stringify(calcConfig);
