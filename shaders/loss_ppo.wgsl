// PPO: max(-A r, -A clip(r, 1-lo, 1+hi)), r = exp(clamp(logprob - old, +-20)); for A < 0 at most -A dual_clip (0: no bound).
// Sources: Schulman et al. 2017 (arXiv:1707.06347); dual clip Ye et al. 2019 (arXiv:1912.09729).
fn policy_terms(logprob: f32, a: f32, old: f32, unit: vec2f) -> LossTerms {
  let ratio = ratio_of(logprob, old);
  let plain = -a * ratio.x;
  let limited = -a * bounded(ratio.x, 1.0 - dims.clip_low, 1.0 + dims.clip_high);
  let clipped = limited > plain;
  var loss = select(plain, limited, clipped);
  let bound = -a * dims.dual_clip;
  let dual_clipped = dims.dual_clip > 0.0 && a < 0.0 && loss > bound;
  loss = select(loss, bound, dual_clipped);
  let slope = select(-a * ratio.y, 0.0, clipped || dual_clipped);
  return LossTerms(loss, slope, 0.0, ratio.x, f32(clipped), f32(dual_clipped), 0.0);
}
