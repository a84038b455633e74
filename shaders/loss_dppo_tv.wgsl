// DPPO-TV: -A sg(min(r, cap)) logprob, 0 where the probability already rose by more than clip_high (A > 0) or fell by more
// than clip_low.  Source: the loss of that name in verl and prime-rl.
fn policy_terms(logprob: f32, a: f32, old: f32, unit: vec2f) -> LossTerms {
  let ratio = ratio_of(logprob, old).x;
  let moved = exp_of(logprob) - exp_of(old);
  let outside = (a > 0.0 && moved > dims.clip_high) || (a <= 0.0 && moved < -dims.clip_low);
  if (outside) { return LossTerms(0.0, 0.0, 0.0, ratio, 1.0, 0.0, 0.0); }
  return weighted_terms(-a * bounded(ratio, 0.0, dims.cap), logprob, ratio, false);
}
