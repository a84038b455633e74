import type { CommandTable } from "./command.ts";

/** Every command with the file that holds it, in the order of the help; a file is loaded when it is called. */
export const commands: CommandTable = {
  doctor: () => import("./doctor.ts"),
  serve: () => import("./serve.ts"),
  try: () => import("./try.ts"),
  chat: () => import("./chat.ts"),
  generate: () => import("./generate.ts"),
  train: () => import("./train.ts"),
  eval: () => import("./eval.ts"),
  demo: () => import("./demo.ts"),
  export: () => import("./export.ts"),
  inspect: () => import("./inspect.ts"),
  lesson: () => import("./lesson.ts"),
  golden: () => import("./golden.ts"),
  score: () => import("./score.ts"),
  sft: () => import("./sft.ts"),
  "init-model": () => import("./init_model.ts"),
  studio: () => import("./studio.ts"),
  relay: () => import("./relay.ts"),
  page: () => import("./page.ts"),
  bench: () => import("./bench.ts"),
};
