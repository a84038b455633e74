// Head, log-softmax and loss over prediction records, in chunks of records and windows of the vocabulary. Record r
// predicts target[r] from hidden row src[r]; logits z = h[src] . w / temperature are made by a matrix product per window.
//   gather:  hg[i] = h[src[first + i]], the rows of a chunk.
//   scan:    folds a window of logits into each row's running m = max l, s = sum e, q = sum e d (l raw logits,
//            d = (l - m) / temperature, e = exp d), and picks the target's l: one pass over all windows in turn.
//   settle:  per record from these: logprob = (l_target - m) / temperature - log s, entropy H = log s - q / s, the loss
//            of loss_terms.wgsl with its derivatives by logprob (glp) and entropy (gent), and the statistics.
//   measure, couple, settle_coupled: for losses that couple the records of a sequence (a unit): logprobs of all records
//            first, then per unit the mean log ratio over its records, one-sidedly clipped, then settle.
//   slope:   a window of logits becomes dL/dl in place: with logp = d - log s, p = exp logp,
//            (glp ([v = target] - p) - gent p (logp + H)) / temperature.
//   scatter: dh[t] = sum over the records of hidden row t, in their order, of dhg[r].
// A record of weight 0 gets exactly 0 in loss and gradient, whatever its other numbers are.
// Dispatch: scan, slope: row_sum.wgsl over the chunk's records; the others: one invocation per element or record.
// Source: the fused head of Hsu et al. 2024 (arXiv:2410.10989); online softmax Milakov & Gimelshein 2018.
struct Dims {
  rows: u32, width: u32, first: u32, first_column: u32, fresh: u32, inverse_temperature: f32,
  clip_low: f32, clip_high: f32, dual_clip: f32, cap: f32, tau_positive: f32, tau_negative: f32, beta: f32,
  unit_low: f32, unit_high: f32, kl_kind: u32, kl_coef: f32, entropy_coef: f32
}

@group(0) @binding(0) var<uniform> dims: Dims;
@group(0) @binding(1) var<storage, read> h: array<f32>;               // (T,C)
@group(0) @binding(2) var<storage, read> src: array<u32>;             // (R)
@group(0) @binding(3) var<storage, read_write> hg: array<f32>;        // (chunk,C)
@group(0) @binding(4) var<storage, read_write> logits: array<f32>;    // (chunk,width): one window
@group(0) @binding(5) var<storage, read> targets: array<u32>;         // (R)
@group(0) @binding(6) var<storage, read_write> fold: array<f32>;      // (chunk,8): the fields below
@group(0) @binding(7) var<storage, read> weight: array<f32>;          // (R)
@group(0) @binding(8) var<storage, read> advantage: array<f32>;       // (R)
@group(0) @binding(9) var<storage, read> old_logprob: array<f32>;     // (R)
@group(0) @binding(10) var<storage, read> ref_logprob: array<f32>;    // (R)
@group(0) @binding(11) var<storage, read_write> stats: array<f32>;    // (R,8): logprob, entropy, weight * loss, ratio,
                                                                      // clipped, dual-clipped, KL, 0
@group(0) @binding(12) var<storage, read> dhg: array<f32>;            // (R,C)
@group(0) @binding(13) var<storage, read> off: array<u32>;            // (T+1)
@group(0) @binding(14) var<storage, read> order: array<u32>;          // (R)
@group(0) @binding(15) var<storage, read_write> dh: array<f32>;       // (T,C)
@group(0) @binding(16) var<storage, read> unit: array<u32>;           // (R): the record's sequence
@group(0) @binding(17) var<storage, read> unit_off: array<u32>;       // (U+1)
@group(0) @binding(18) var<storage, read> unit_order: array<u32>;     // (R)
@group(0) @binding(19) var<storage, read> outside: array<f32>;        // (U,4): sum and number of log ratios of records
                                                                      // elsewhere, mean advantage, 0
@group(0) @binding(20) var<storage, read_write> coupled: array<f32>;  // (U,2): mean log ratio, mean advantage

//!include "row_sum.wgsl"
//!include "loss_terms.wgsl"
//!include "loss_cross_entropy.wgsl"

const FOLD = 8u;
const TOP = 0u;
const SUM = 1u;
const TILT = 2u;
const PICKED = 3u;
const LOG_SUM = 4u;
const ENTROPY = 5u;
const BY_LOGPROB = 6u;
const BY_ENTROPY = 7u;

const LOWEST = -3.4028234e38;

@compute @workgroup_size(WG)
fn gather(@builtin(workgroup_id) group: vec3u, @builtin(num_workgroups) groups: vec3u,
          @builtin(local_invocation_index) lane: u32) {
  let row = row_of(group, groups, lane);
  if (row >= dims.rows) { return; }
  let begin = src[dims.first + row] * dims.width;
  for (var c = lane % LANES; c < dims.width; c += LANES) { hg[row * dims.width + c] = h[begin + c]; }
}

/// m, s, q of the logits seen so far.
struct Folded { top: f32, sum: f32, tilt: f32 }

/// The same about a larger maximum.
fn raised(f: Folded, top: f32) -> Folded {
  let shift = max((f.top - top) * dims.inverse_temperature, -200.0);
  let shrink = exp(shift);
  return Folded(top, f.sum * shrink, shrink * fma(f.sum, shift, f.tilt));
}

@compute @workgroup_size(WG)
fn scan(@builtin(workgroup_id) group: vec3u, @builtin(num_workgroups) groups: vec3u,
        @builtin(local_invocation_index) lane: u32) {
  let row = row_of(group, groups, lane);
  let sub = lane % LANES;
  let base = row * dims.width;
  let end = select(0u, dims.width, row < dims.rows);
  var mine = Folded(LOWEST, 0.0, 0.0);
  for (var c = sub; c < end; c += LANES) {
    let l = logits[base + c];
    let d = (l - mine.top) * dims.inverse_temperature;
    let e = exp_of(-abs(d));
    if (d > 0.0) {
      mine = Folded(l, fma(mine.sum, e, 1.0), e * fma(mine.sum, -min(d, 200.0), mine.tilt));
    } else {
      mine.sum += e;
      mine.tilt = fma(e, max(d, -200.0), mine.tilt);
    }
  }
  let top = row_max(mine.top, lane);
  mine = raised(mine, top);
  var window = Folded(top, row_sum(mine.sum, lane), row_sum(mine.tilt, lane));
  if (sub != 0u || row >= dims.rows) { return; }
  let at = row * FOLD;
  if (dims.fresh == 0u) {
    let before = Folded(fold[at + TOP], fold[at + SUM], fold[at + TILT]);
    let largest = max(before.top, window.top);
    let a = raised(before, largest);
    let b = raised(window, largest);
    window = Folded(largest, a.sum + b.sum, a.tilt + b.tilt);
  }
  fold[at + TOP] = window.top;
  fold[at + SUM] = window.sum;
  fold[at + TILT] = window.tilt;
  let column = targets[dims.first + row] - dims.first_column;
  if (column < dims.width) { fold[at + PICKED] = logits[base + column]; }
}

/// Row's logprob and entropy from its fold.
fn score_of(row: u32) -> vec2f {
  let at = row * FOLD;
  let log_sum = log_of(fold[at + SUM]);
  fold[at + LOG_SUM] = log_sum;
  let logprob = (fold[at + PICKED] - fold[at + TOP]) * dims.inverse_temperature - log_sum;
  return vec2f(logprob, log_sum - fold[at + TILT] / fold[at + SUM]);
}

fn settle_row(row: u32, of_unit: vec2f) {
  let at = row * FOLD;
  let r = dims.first + row;
  let score = score_of(row);
  var terms = LossTerms(0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0);
  let w = weight[r];
  if (w != 0.0) {
    terms = loss_terms(score.x, score.y, advantage[r], old_logprob[r], ref_logprob[r], of_unit);
    terms.loss *= w;
    terms.by_logprob *= w;
    terms.by_entropy *= w;
  }
  fold[at + ENTROPY] = score.y;
  fold[at + BY_LOGPROB] = terms.by_logprob;
  fold[at + BY_ENTROPY] = terms.by_entropy;
  stats[r * 8u] = score.x;
  stats[r * 8u + 1u] = score.y;
  stats[r * 8u + 2u] = terms.loss;
  stats[r * 8u + 3u] = terms.ratio;
  stats[r * 8u + 4u] = terms.clipped;
  stats[r * 8u + 5u] = terms.dual_clipped;
  stats[r * 8u + 6u] = terms.kl;
  stats[r * 8u + 7u] = 0.0;
}

@compute @workgroup_size(WG)
fn settle(@builtin(workgroup_id) group: vec3u, @builtin(num_workgroups) groups: vec3u,
          @builtin(local_invocation_index) lane: u32) {
  let row = (group.y * groups.x + group.x) * WG + lane;
  if (row < dims.rows) { settle_row(row, vec2f(0.0)); }
}

@compute @workgroup_size(WG)
fn settle_coupled(@builtin(workgroup_id) group: vec3u, @builtin(num_workgroups) groups: vec3u,
                  @builtin(local_invocation_index) lane: u32) {
  let row = (group.y * groups.x + group.x) * WG + lane;
  if (row >= dims.rows) { return; }
  let u = unit[dims.first + row];
  settle_row(row, vec2f(coupled[2u * u], coupled[2u * u + 1u]));
}

@compute @workgroup_size(WG)
fn measure(@builtin(workgroup_id) group: vec3u, @builtin(num_workgroups) groups: vec3u,
           @builtin(local_invocation_index) lane: u32) {
  let row = (group.y * groups.x + group.x) * WG + lane;
  if (row < dims.rows) { stats[(dims.first + row) * 8u] = score_of(row).x; }
}

@compute @workgroup_size(WG)
fn couple(@builtin(workgroup_id) group: vec3u, @builtin(num_workgroups) groups: vec3u,
          @builtin(local_invocation_index) lane: u32) {
  let u = (group.y * groups.x + group.x) * WG + lane;
  if (u >= dims.rows) { return; }
  var sum = outside[4u * u];
  var count = outside[4u * u + 1u];
  for (var k = unit_off[u]; k < unit_off[u + 1u]; k++) {
    let r = unit_order[k];
    if (weight[r] == 0.0) { continue; }
    let d = stats[r * 8u] - old_logprob[r];
    let pushed_up = advantage[r] >= 0.0;
    sum += bounded(d, select(-dims.unit_low, LOWEST, pushed_up), select(-LOWEST, dims.unit_high, pushed_up));
    count += 1.0;
  }
  coupled[2u * u] = sum / max(count, 1.0);
  coupled[2u * u + 1u] = outside[4u * u + 2u];
}

@compute @workgroup_size(WG)
fn slope(@builtin(workgroup_id) group: vec3u, @builtin(num_workgroups) groups: vec3u,
         @builtin(local_invocation_index) lane: u32) {
  let row = row_of(group, groups, lane);
  if (row >= dims.rows) { return; }
  let base = row * dims.width;
  let at = row * FOLD;
  let by_logprob = fold[at + BY_LOGPROB];
  let by_entropy = fold[at + BY_ENTROPY];
  let top = fold[at + TOP];
  let log_sum = fold[at + LOG_SUM];
  let entropy = fold[at + ENTROPY];
  let column = targets[dims.first + row] - dims.first_column;
  let none = by_logprob == 0.0 && by_entropy == 0.0;
  for (var c = lane % LANES; c < dims.width; c += LANES) {
    var g = 0.0;
    if (!none) {
      let logp = bounded((logits[base + c] - top) * dims.inverse_temperature - log_sum, -200.0, 0.0);
      g = -exp_of(logp) * fma(by_entropy, logp + entropy, by_logprob);
      if (c == column) { g += by_logprob; }
      g *= dims.inverse_temperature;
    }
    logits[base + c] = g;
  }
}

@compute @workgroup_size(WG)
fn scatter(@builtin(workgroup_id) group: vec3u, @builtin(num_workgroups) groups: vec3u,
           @builtin(local_invocation_index) lane: u32) {
  let t = row_of(group, groups, lane);
  if (t >= dims.rows) { return; }
  let end = off[t + 1u];
  for (var c = lane % LANES; c < dims.width; c += LANES) {
    var sum = 0.0;
    for (var k = off[t]; k < end; k++) { sum += dhg[order[k] * dims.width + c]; }
    let i = t * dims.width + c;
    if (dims.fresh == 1u) { dh[i] = sum; } else { dh[i] += sum; }
  }
}
