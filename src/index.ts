/** The package entry: what experiments, datasets, graders, hooks and agents' preparation are written with. */

export {
  CancelledError,
  ConfigError,
  DeviceError,
  EnvironmentError,
  type ErrorDetail,
  type ExitCode,
  FormatError,
  IndexError,
  LeydenError,
  ShapeError,
} from "./core/errors.ts";
export { deriveKey, Rng, type RngKey, seedKey } from "./core/rng.ts";
export { defineExperiment, parseConfig } from "./experiment/config.ts";
export type { Batch, BatchOptions, GroupRecord } from "./rl/batch/batch_input.ts";
export { buildBatch } from "./rl/batch/build_batch.ts";
export type { Normalisation } from "./rl/normalisation.ts";
export { GraderError, HookError, type HookName, NoRunnerError } from "./rollout/errors.ts";
export type { Failure, FailureCode } from "./rollout/failure.ts";
export type { FinishedRollout, RolloutHooks } from "./rollout/hooks.ts";
export { type VirtualResult, VirtualRun, type VirtualWorkload } from "./schedule/virtual_run.ts";
export type { AgentCommand, FailureClass, PrepareAgent, PrepareContext } from "./schema/agent.ts";
export type { CompletionReply, CompletionTask } from "./schema/completion.ts";
export type {
  EvalConfig,
  ExperimentConfig,
  ExperimentInput,
  ModelConfig,
  RolloutSettings,
  ScheduleConfig,
  StoreConfig,
  TaskConfig,
} from "./schema/experiment.ts";
export type { Files } from "./schema/files.ts";
export type { Grade, GradeInput, Grader, GradeTools, TranscriptCall } from "./schema/grader.ts";
export type {
  ChoiceExercise,
  EditExercise,
  Exhibit,
  ExhibitTable,
  Lesson,
  LessonCall,
  LessonExperiment,
  LessonGroup,
  LessonLanguage,
  LessonRollout,
  LessonRun,
  LessonRuns,
  LessonTexts,
  NumberExercise,
  Verdict,
} from "./schema/lesson.ts";
export type { ProcessHost } from "./schema/process_host.ts";
export type { SftDataset, SftDatasetFactory, SftDatasetOptions, SftExample } from "./schema/sft.ts";
export type { Dataset, TaskRow, TaskStream } from "./schema/task.ts";
export type { TrainConfig } from "./schema/train_config.ts";
export type { EventCreate, Rollout, RolloutCreate, RolloutEvent, RolloutState } from "./schema/wire.ts";
