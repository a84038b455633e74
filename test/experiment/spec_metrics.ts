/** Metric names of Agent Lightning and of verl under it (spec 4.8-4.17), by what a run must have to state them. */

/** `base/a`, `base/b`, … */
function below(base: string, names: readonly string[]): string[] {
  return names.map((name) => `${base}/${name}`);
}

const spread = ["mean", "max", "min"];

/** Of every update. */
export const updateNames: readonly string[] = [
  "training/reward",
  ...below("training", ["n_sample", "n_rollouts", "n_rollouts_w_trace", "n_rollouts_w_reward", "n_turns"]),
  ...below("training", ["n_groups", "n_zero_adv_groups", "n_sample_trained"]),
  ...below("training/rollout_level_advantage", [
    "n_rows",
    "n_rollouts",
    "n_multi_row_rollouts",
    "max_rows_per_rollout",
  ]),
  ...below("response_length/training", ["avg_by_turn", "max_by_turn", "min_by_turn"]),
  ...["timing/step_start_wall", "timing/rollout_phase_end_wall"],
  ...["score", "rewards", "advantages", "returns"].flatMap((name) => below(`critic/${name}`, spread)),
  ...below("response_length", [...spread, "clip_ratio"]),
  ...below("response_length_non_aborted", [...spread, "clip_ratio"]),
  "response/aborted_ratio",
  ...below("prompt_length", [...spread, "clip_ratio"]),
  ...below("global_seqlen", ["min", "max", "minmax_diff", "balanced_min", "balanced_max", "mean"]),
  ...below("timing_s", ["gen", "adv", "update_actor", "step"]),
  ...below("timing_per_token_ms", ["gen", "adv", "update_actor"]),
  ...below("perf", ["total_num_tokens", "time_per_step", "throughput"]),
  ...below("actor", [
    "pg_loss",
    "loss",
    "grad_norm",
    "lr",
    "entropy_loss",
    "pg_clipfrac",
    "pg_clipfrac_lower",
    "ppo_kl",
  ]),
  // Ours.
  ...below("device", ["prefill_s", "decode_s", "train_s", "optimizer_s", "score_s", "idle_s"]),
  ...below("training", ["logprob_diff_max", "logprob_diff_n", "signed_mass"]),
  "actor/entropy",
];

/** Of an update with a critic of its own and a KL to a reference policy in the reward, on recomputed log-probabilities. */
export const scoredNames: readonly string[] = [
  ...below("critic/values", spread),
  ...below("critic", ["vf_loss", "vf_clipfrac", "grad_norm", "vf_explained_var"]),
  ...below("timing_s", ["old_log_prob", "ref", "values", "update_critic"]),
  ...below("timing_per_token_ms", ["ref", "values", "update_critic"]),
  ...["actor/kl_coef", "actor/reward_kl_penalty"],
];

/** Of an update on the rollouts of agents. */
export const agentNames: readonly string[] = [
  ...["rollout_queue_wait_s", "rollout_run_duration_s", "rollout_total_s"].flatMap((name) =>
    below(`timing/${name}`, ["mean", "p50", "p90", "max"]),
  ),
  "timing/rollout_n_missing_running_ts",
  ...below("training/async", ["n_prev_carry_over_rollouts", "n_completed_rollouts", "n_new_carry_over_rollouts"]),
  ...below("training/async", ["new_carry_over_age_max_steps", "proxy_inflight_at_pause", "proxy_drain_seconds"]),
];

/** Of an update after which was validated. */
export const validationNames: readonly string[] = below("val", [
  ...["reward", "n_rollouts", "n_rollouts_w_trace", "n_rollouts_w_reward", "turn_count"],
  ...["mean_response_length_per_turn", "mean_total_response_length_per_rollout"],
]);

/** Those of the names that a line has no number under. */
export function missing(line: Readonly<Record<string, unknown>>, names: readonly string[]): string[] {
  return names.filter((name) => !Number.isFinite(line[name]));
}
