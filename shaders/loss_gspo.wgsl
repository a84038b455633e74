// GSPO, token form: every token has its sequence's ratio s = exp(mean log ratio, at most 10) and passes the gradient to its
// own logprob; clipped like PPO.  Source: Zheng et al. 2025 (arXiv:2507.18071).
fn policy_terms(logprob: f32, a: f32, old: f32, unit: vec2f) -> LossTerms {
  let ratio = exp_of(bounded(unit.x, -1.0e30, 10.0));
  let plain = -a * ratio;
  let limited = -a * bounded(ratio, 1.0 - dims.clip_low, 1.0 + dims.clip_high);
  let clipped = limited > plain;
  let slope = select(plain, 0.0, clipped || unit.x > 10.0);
  return LossTerms(select(plain, limited, clipped), slope, 0.0, ratio, f32(clipped), 0.0, 0.0);
}
