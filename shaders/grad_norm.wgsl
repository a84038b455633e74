// Global norm of the gradients and what the optimizer step does with it.
// square: each of `groups` workgroups' invocations sums the squares of its elements of one window and counts those that
// are NaN or infinite (by bits: a driver may assume that there are none), into part[slot] and bad[slot].
// settle: one workgroup adds the parts in order: stats = norm (of the gradients times factor), scale = factor * min(1,
// max_norm / (norm + 1e-6)) (factor when max_norm is 0), skipped = 1 and scale 0 when any gradient or the norm itself is
// not finite, number of such gradients.
// Dispatch: square: span.wgsl over the window; settle: 1 workgroup.
// Source of the clip: Pascanu et al. 2013 (arXiv:1211.5063), with the epsilon of torch.nn.utils.clip_grad_norm_.
struct Dims { count: u32, first_part: u32, parts: u32, max_norm: f32, factor: f32 }

@group(0) @binding(0) var<uniform> dims: Dims;
@group(0) @binding(1) var<storage, read> grads: array<f32>;         // (count)
@group(0) @binding(2) var<storage, read_write> part: array<f32>;    // (parts)
@group(0) @binding(3) var<storage, read_write> bad: array<u32>;     // (parts)
@group(0) @binding(4) var<storage, read_write> stats: array<f32>;   // (4): norm, scale, skipped, not finite

//!include "span.wgsl"

@compute @workgroup_size(WG)
fn square(@builtin(workgroup_id) group: vec3u, @builtin(num_workgroups) groups: vec3u,
          @builtin(local_invocation_index) lane: u32) {
  let span = span_of(group, groups, lane, dims.count);
  var sum = 0.0;
  var count = 0u;
  for (var i = span.first; i < span.end; i += WG) {
    let g = grads[i];
    let finite = (bitcast<u32>(g) & 0x7f800000u) != 0x7f800000u;
    if (finite) { sum = fma(g, g, sum); } else { count += 1u; }
  }
  let slot = dims.first_part + (group.y * groups.x + group.x) * WG + lane;
  if (slot < dims.first_part + dims.parts) {
    part[slot] = sum;
    bad[slot] = count;
  }
}

var<workgroup> lane_sum: array<f32, WG>;
var<workgroup> lane_bad: array<u32, WG>;

@compute @workgroup_size(WG)
fn settle(@builtin(local_invocation_index) lane: u32) {
  let each = (dims.parts + WG - 1u) / WG;
  let end = min((lane + 1u) * each, dims.parts);
  var sum = 0.0;
  var count = 0u;
  for (var i = lane * each; i < end; i++) {
    sum += part[i];
    count += bad[i];
  }
  lane_sum[lane] = sum;
  lane_bad[lane] = count;
  workgroupBarrier();
  if (lane != 0u) { return; }
  sum = 0.0;
  count = 0u;
  for (var l = 0u; l < WG; l++) {
    sum += lane_sum[l];
    count += lane_bad[l];
  }
  let overflow = (bitcast<u32>(sum) & 0x7f800000u) == 0x7f800000u;
  let skipped = count > 0u || overflow;
  let norm = sqrt(sum) * dims.factor;
  var scale = dims.factor;
  if (dims.max_norm > 0.0) { scale *= min(1.0, dims.max_norm / (norm + 1e-6)); }
  stats[0] = norm;
  stats[1] = select(scale, 0.0, skipped);
  stats[2] = select(0.0, 1.0, skipped);
  stats[3] = f32(count);
}
