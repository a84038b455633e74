// DRO: -(A logprob - beta/2 (logprob - old)^2).  Source: Richemond et al. 2024 (arXiv:2405.19107), in verl's token form.
fn policy_terms(logprob: f32, a: f32, old: f32, unit: vec2f) -> LossTerms {
  let d = logprob - old;
  let ratio = ratio_of(logprob, old).x;
  return LossTerms(0.5 * dims.beta * d * d - a * logprob, dims.beta * d - a, 0.0, ratio, 0.0, 0.0, 0.0);
}
