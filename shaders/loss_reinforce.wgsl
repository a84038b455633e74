// REINFORCE: -A logprob; with a cap -sg(min(r, cap)) A logprob (0: no cap).  Source: Williams 1992; cap as in verl.
fn policy_terms(logprob: f32, a: f32, old: f32, unit: vec2f) -> LossTerms {
  if (dims.cap == 0.0) { return weighted_terms(-a, logprob, 1.0, false); }
  let ratio = ratio_of(logprob, old).x;
  let weight = bounded(ratio, 0.0, dims.cap);
  return weighted_terms(-weight * a, logprob, ratio, weight != ratio);
}
