// Cross entropy: -logprob.
fn policy_terms(logprob: f32, a: f32, old: f32, unit: vec2f) -> LossTerms {
  return weighted_terms(-1.0, logprob, 1.0, false);
}
