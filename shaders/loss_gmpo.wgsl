// GMPO: a sequence's loss is -A exp(mean of the log ratios, each clipped on the side its advantage pushes to), which
// every token of it holds; a token whose log ratio was clipped has no gradient.
// Source: Zhao et al. 2025 (arXiv:2507.20673).
fn policy_terms(logprob: f32, a: f32, old: f32, unit: vec2f) -> LossTerms {
  let diff = logprob - old;
  let moved = (a >= 0.0 && diff > dims.clip_high) || (a < 0.0 && diff < -dims.clip_low);
  let ratio = exp_of(unit.x);
  let loss = -unit.y * ratio;
  return LossTerms(loss, select(loss, 0.0, moved), 0.0, ratio, f32(moved), 0.0, 0.0);
}
