// Value head over prediction records: v[r] = h[src[r]] . w + b, with the clipped value loss and its gradients.
//   evaluate: stats[r] = v, weight * loss, clipped, weight * dloss/dv, where
//             loss = 0.5 max((v - G)^2, (clip(v, old - range, old + range) - G)^2), G the return; range 0: no clip.
//   spread:   dh[t] = w * sum over the records of hidden row t of their dv, in their order.
//   gain:     dw[c] += sum over records, ascending, of dv[r] h[src[r]][c]; column C is the bias.
// A record of weight 0 gets exactly 0 in loss and gradient, whatever its other numbers are.
// Dispatch: evaluate, spread: row_sum.wgsl over records, over hidden rows; gain: ceil((C+1)/WG) workgroups.
// Source: the clipped value loss of Schulman et al. 2017's code, halved as in verl.
struct Dims { rows: u32, width: u32, clip_range: f32 }

@group(0) @binding(0) var<uniform> dims: Dims;
@group(0) @binding(1) var<storage, read> h: array<f32>;               // (T,C)
@group(0) @binding(2) var<storage, read> w: array<f32>;               // (1,C)
@group(0) @binding(3) var<storage, read> b: array<f32>;               // (1)
@group(0) @binding(4) var<storage, read> src: array<u32>;             // (R)
@group(0) @binding(5) var<storage, read> weight: array<f32>;          // (R)
@group(0) @binding(6) var<storage, read> old_value: array<f32>;       // (R)
@group(0) @binding(7) var<storage, read> target_value: array<f32>;    // (R)
@group(0) @binding(8) var<storage, read_write> stats: array<f32>;     // (R,4): v, weight * loss, clipped, weight * dloss/dv
@group(0) @binding(9) var<storage, read> off: array<u32>;             // (T+1)
@group(0) @binding(10) var<storage, read> order: array<u32>;          // (R)
@group(0) @binding(11) var<storage, read_write> dh: array<f32>;       // (T,C)
@group(0) @binding(12) var<storage, read_write> dw: array<f32>;       // (1,C)
@group(0) @binding(13) var<storage, read_write> db: array<f32>;       // (1)

//!include "row_sum.wgsl"

const STATS = 4u;
const BY_VALUE = 3u;

@compute @workgroup_size(WG)
fn evaluate(@builtin(workgroup_id) group: vec3u, @builtin(num_workgroups) groups: vec3u,
            @builtin(local_invocation_index) lane: u32) {
  let r = row_of(group, groups, lane);
  let first = lane % LANES;
  let present = r < dims.rows;
  let base = src[min(r, dims.rows - 1u)] * dims.width;
  var sum = 0.0;
  for (var c = first; c < select(0u, dims.width, present); c += LANES) { sum = fma(h[base + c], w[c], sum); }
  let v = row_sum(sum, lane) + b[0];
  if (first != 0u || !present) { return; }
  var loss = 0.0;
  var slope = 0.0;
  var clipped = 0.0;
  if (weight[r] != 0.0) {
    let plain = v - target_value[r];
    var limited = v;
    if (dims.clip_range > 0.0) {
      limited = max(min(v, old_value[r] + dims.clip_range), old_value[r] - dims.clip_range);
    }
    let bounded = limited - target_value[r];
    let uses_bound = bounded * bounded > plain * plain;
    loss = 0.5 * select(plain * plain, bounded * bounded, uses_bound);
    slope = select(plain, 0.0, uses_bound && limited != v);
    clipped = f32(uses_bound);
  }
  stats[r * STATS] = v;
  stats[r * STATS + 1u] = weight[r] * loss;
  stats[r * STATS + 2u] = clipped;
  stats[r * STATS + BY_VALUE] = weight[r] * slope;
}

@compute @workgroup_size(WG)
fn spread(@builtin(workgroup_id) group: vec3u, @builtin(num_workgroups) groups: vec3u,
          @builtin(local_invocation_index) lane: u32) {
  let t = row_of(group, groups, lane);
  if (t >= dims.rows) { return; }
  var sum = 0.0;
  for (var k = off[t]; k < off[t + 1u]; k++) { sum += stats[order[k] * STATS + BY_VALUE]; }
  for (var c = lane % LANES; c < dims.width; c += LANES) { dh[t * dims.width + c] = sum * w[c]; }
}

@compute @workgroup_size(WG)
fn gain(@builtin(workgroup_id) group: vec3u, @builtin(num_workgroups) groups: vec3u,
        @builtin(local_invocation_index) lane: u32) {
  let c = (group.y * groups.x + group.x) * WG + lane;
  if (c > dims.width) { return; }
  if (c == dims.width) {
    var sum = db[0];
    for (var r = 0u; r < dims.rows; r++) { sum += stats[r * STATS + BY_VALUE]; }
    db[0] = sum;
    return;
  }
  var sum = dw[c];
  for (var r = 0u; r < dims.rows; r++) {
    sum = fma(stats[r * STATS + BY_VALUE], h[src[r] * dims.width + c], sum);
  }
  dw[c] = sum;
}
