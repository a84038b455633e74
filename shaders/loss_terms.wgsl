// The loss of one prediction record and its derivatives by the record's logprob and entropy: the policy loss of
// `policy_terms`, which the host puts in as one of the files loss_*.wgsl, plus kl_coef * KL estimator of
// d = logprob - ref: 1: d; 2: d^2/2; 3: exp(-d) + d - 1 with -d clamped to +-20 and the value to +-10; 4: |d|; 5: 3 without
// clamps; 6 and 7: the value of 1 and 3 with the derivative of 2; minus entropy_coef * entropy. Derivatives are those of
// the stated expressions, 0 where a clamp or clip is active. NaN in a field that is used stays NaN.
// Source: estimators Schulman 2020, "Approximating KL divergence".
struct LossTerms {
  loss: f32, by_logprob: f32, by_entropy: f32, ratio: f32, clipped: f32, dual_clipped: f32, kl: f32
}

fn is_nan(x: f32) -> bool { return (bitcast<u32>(x) & 0x7fffffffu) > 0x7f800000u; }

// clamp, exp and log that keep NaN: WGSL's clamp may turn it into a bound, and some drivers' exp and log into a number.
fn bounded(x: f32, low: f32, high: f32) -> f32 { return select(clamp(x, low, high), x, is_nan(x)); }
fn exp_of(x: f32) -> f32 { return select(exp(x), x, is_nan(x)); }
fn log_of(x: f32) -> f32 { return select(log(x), x, is_nan(x)); }

/// exp(x) - 1 - x without the cancellation near 0.
fn exp_tail(x: f32) -> f32 {
  if (abs(x) > 0.5) { return exp_of(x) - 1.0 - x; }
  var t = fma(x, 1.0 / 8.0, 1.0);
  t = fma(t * x, 1.0 / 7.0, 1.0);
  t = fma(t * x, 1.0 / 6.0, 1.0);
  t = fma(t * x, 1.0 / 5.0, 1.0);
  t = fma(t * x, 1.0 / 4.0, 1.0);
  t = fma(t * x, 1.0 / 3.0, 1.0);
  return 0.5 * x * x * t;
}

/// (value, derivative by d) of a KL estimator.
fn kl_term(d: f32) -> vec2f {
  switch dims.kl_kind {
    case 1u: { return vec2f(d, 1.0); }
    case 2u: { return vec2f(0.5 * d * d, d); }
    case 4u: { return vec2f(abs(d), sign(d)); }
    case 5u: {
      let value = exp_tail(-d);
      return vec2f(value, d - value);
    }
    case 6u: { return vec2f(d, d); }
    default: {}
  }
  let x = bounded(-d, -20.0, 20.0);
  let value = exp_tail(x);
  let above = value > 10.0;
  if (dims.kl_kind == 7u) { return vec2f(select(value, 10.0, above), d); }
  if (above) { return vec2f(10.0, 0.0); }
  return vec2f(value, -(value + x));
}

/// exp of the log ratio clamped to +-20, and its derivative by logprob.
fn ratio_of(logprob: f32, old: f32) -> vec2f {
  let diff = logprob - old;
  let ratio = exp_of(bounded(diff, -20.0, 20.0));
  return vec2f(ratio, select(ratio, 0.0, abs(diff) > 20.0));
}

/// A loss that weighs the logprob by a constant: value and derivative.
fn weighted_terms(by_logprob: f32, logprob: f32, ratio: f32, clipped: bool) -> LossTerms {
  return LossTerms(by_logprob * logprob, by_logprob, 0.0, ratio, f32(clipped), 0.0, 0.0);
}

/// `unit`: of the record's sequence, its mean log ratio and its mean advantage, for losses that take them.
fn loss_terms(logprob: f32, entropy: f32, a: f32, old: f32, reference: f32, unit: vec2f) -> LossTerms {
  var terms = policy_terms(logprob, a, old, unit);
  if (dims.kl_coef != 0.0) {
    let kl = kl_term(logprob - reference);
    terms.kl = kl.x;
    terms.loss = fma(dims.kl_coef, kl.x, terms.loss);
    terms.by_logprob = fma(dims.kl_coef, kl.y, terms.by_logprob);
  }
  terms.loss = fma(-dims.entropy_coef, entropy, terms.loss);
  terms.by_entropy = -dims.entropy_coef;
  return terms;
}
