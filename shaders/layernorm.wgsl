// LayerNorm over the last axis, forward and backward: y = (x - mean) * rstd * w + b, rstd = 1 / sqrt(var + eps), var the
// biased variance. The mean is summed from x - x[0] and the variance from x - mean, so that a large common offset costs
// no more than the rounding of the mean.
// With xh = (x - mean) * rstd and g = dy * w: dx = rstd * (g - mean(g) - xh * mean(g * xh)); dw += sum over rows of
// dy * xh; db += sum over rows of dy (partial sums of ROWS rows here, added up by column_sum.wgsl).
// Dispatch: forward, backward: row_sum.wgsl; gain_part: (ceil(C/WG), parts).
// Source: Ba, Kiros, Hinton 2016, arXiv:1607.06450.
struct Dims { rows: u32, cols: u32, eps: f32, add: u32 }

override ROWS: u32 = 32u;
/// Sums go on from what part holds.
override CARRY: bool = false;

@group(0) @binding(0) var<uniform> dims: Dims;
@group(0) @binding(1) var<storage, read> x: array<f32>;               // (R,C)
@group(0) @binding(2) var<storage, read> w: array<f32>;               // (C)
@group(0) @binding(3) var<storage, read> b: array<f32>;               // (C)
@group(0) @binding(4) var<storage, read_write> y: array<f32>;         // (R,C)
@group(0) @binding(5) var<storage, read_write> mean: array<f32>;      // (R)
@group(0) @binding(6) var<storage, read_write> rstd: array<f32>;      // (R)
@group(0) @binding(7) var<storage, read> dy: array<f32>;              // (R,C)
@group(0) @binding(8) var<storage, read_write> dx: array<f32>;        // (R,C)
@group(0) @binding(9) var<storage, read_write> part_w: array<f32>;    // (parts,C)
@group(0) @binding(10) var<storage, read_write> part_b: array<f32>;   // (parts,C)

//!include "row_sum.wgsl"

/// (mean, rstd) of a row, kept for backward.
fn moments(row: u32, lane: u32) -> vec2f {
  let first = lane % LANES;
  let end = select(0u, dims.cols, row < dims.rows);
  let base = row * dims.cols;
  let size = f32(dims.cols);
  let origin = x[min(row, dims.rows - 1u) * dims.cols];
  var sum = 0.0;
  for (var c = first; c < end; c += LANES) { sum += x[base + c] - origin; }
  let m = origin + row_sum(sum, lane) / size;
  var square = 0.0;
  for (var c = first; c < end; c += LANES) {
    let d = x[base + c] - m;
    square = fma(d, d, square);
  }
  let r = inverseSqrt(row_sum(square, lane) / size + dims.eps);
  if (first == 0u && row < dims.rows) {
    mean[row] = m;
    rstd[row] = r;
  }
  return vec2f(m, r);
}

@compute @workgroup_size(WG)
fn forward(@builtin(workgroup_id) group: vec3u, @builtin(num_workgroups) groups: vec3u,
           @builtin(local_invocation_index) lane: u32) {
  let row = row_of(group, groups, lane);
  let at = moments(row, lane);
  if (row >= dims.rows) { return; }
  let base = row * dims.cols;
  for (var c = lane % LANES; c < dims.cols; c += LANES) { y[base + c] = (x[base + c] - at.x) * at.y * w[c]; }
}

@compute @workgroup_size(WG)
fn forward_biased(@builtin(workgroup_id) group: vec3u, @builtin(num_workgroups) groups: vec3u,
                  @builtin(local_invocation_index) lane: u32) {
  let row = row_of(group, groups, lane);
  let at = moments(row, lane);
  if (row >= dims.rows) { return; }
  let base = row * dims.cols;
  for (var c = lane % LANES; c < dims.cols; c += LANES) { y[base + c] = fma((x[base + c] - at.x) * at.y, w[c], b[c]); }
}

@compute @workgroup_size(WG)
fn backward(@builtin(workgroup_id) group: vec3u, @builtin(num_workgroups) groups: vec3u,
            @builtin(local_invocation_index) lane: u32) {
  let row = row_of(group, groups, lane);
  let first = lane % LANES;
  let end = select(0u, dims.cols, row < dims.rows);
  let base = row * dims.cols;
  let at = min(row, dims.rows - 1u);
  let m = mean[at];
  let r = rstd[at];
  var sum = 0.0;
  var dot = 0.0;
  for (var c = first; c < end; c += LANES) {
    let g = dy[base + c] * w[c];
    sum += g;
    dot = fma(g, (x[base + c] - m) * r, dot);
  }
  let mean_g = row_sum(sum, lane) / f32(dims.cols);
  let mean_dot = row_sum(dot, lane) / f32(dims.cols);
  for (var c = first; c < end; c += LANES) {
    let i = base + c;
    let g = r * (dy[i] * w[c] - mean_g - (x[i] - m) * r * mean_dot);
    if (dims.add == 1u) { dx[i] += g; } else { dx[i] = g; }
  }
}

@compute @workgroup_size(WG)
fn gain_part(@builtin(workgroup_id) group: vec3u, @builtin(num_workgroups) groups: vec3u,
             @builtin(local_invocation_index) lane: u32) {
  let c = group.x * WG + lane;
  let p = group.z * groups.y + group.y;
  let first = p * ROWS;
  if (c >= dims.cols || first >= dims.rows) { return; }
  let last = first + min(ROWS, dims.rows - first);
  var sum_w = select(0.0, part_w[p * dims.cols + c], CARRY);
  var sum_b = select(0.0, part_b[p * dims.cols + c], CARRY);
  for (var row = first; row < last; row++) {
    let g = dy[row * dims.cols + c];
    sum_w = fma(g, (x[row * dims.cols + c] - mean[row]) * rstd[row], sum_w);
    sum_b += g;
  }
  part_w[p * dims.cols + c] = sum_w;
  part_b[p * dims.cols + c] = sum_b;
}
