// SAPO: -A (4 / tau) sigmoid(tau (r - 1)), tau by the sign of A.  Source: Gao et al. 2025 (arXiv:2511.20347).
fn policy_terms(logprob: f32, a: f32, old: f32, unit: vec2f) -> LossTerms {
  let ratio = ratio_of(logprob, old);
  let tau = select(dims.tau_negative, dims.tau_positive, a > 0.0);
  let gate = 1.0 / (1.0 + exp_of(bounded(-tau * (ratio.x - 1.0), -80.0, 80.0)));
  return LossTerms(-a * gate * 4.0 / tau, -a * 4.0 * gate * (1.0 - gate) * ratio.y, 0.0, ratio.x, 0.0, 0.0, 0.0);
}
