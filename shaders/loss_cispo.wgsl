// CISPO: -sg(clip(r, 1-lo, 1+hi)) A logprob.  Source: MiniMax 2025 (arXiv:2506.13585).
fn policy_terms(logprob: f32, a: f32, old: f32, unit: vec2f) -> LossTerms {
  let ratio = ratio_of(logprob, old).x;
  let weight = bounded(ratio, 1.0 - dims.clip_low, 1.0 + dims.clip_high);
  return weighted_terms(-weight * a, logprob, ratio, weight != ratio);
}
