// RMSNorm over the last axis, forward and backward: y = x * rstd * (w + shift), rstd = 1 / sqrt(mean(x^2) + eps).
// shift is 1 for zero-centred weights (Gemma), else 0. dx = rstd * (dy*g - x * rstd^2 * mean(x*dy*g)), g = w + shift.
// dw += sum over rows of dy * x * rstd (partial sums of ROWS rows here, added up by column_sum.wgsl).
// Dispatch: forward, backward, by fours or not: row_sum.wgsl; gain_part: (ceil(C/WG), parts).
// Source: Zhang & Sennrich 2019, arXiv:1910.07467.
struct Dims { rows: u32, cols: u32, eps: f32, shift: f32, add: u32 }

override ROWS: u32 = 32u;
/// Sums go on from what part holds.
override CARRY: bool = false;

@group(0) @binding(0) var<uniform> dims: Dims;
@group(0) @binding(1) var<storage, read> x: array<f32>;            // (R,C)
@group(0) @binding(2) var<storage, read> w: array<f32>;            // (C)
@group(0) @binding(3) var<storage, read_write> y: array<f32>;      // (R,C)
@group(0) @binding(4) var<storage, read_write> rstd: array<f32>;   // (R)
@group(0) @binding(5) var<storage, read> dy: array<f32>;           // (R,C)
@group(0) @binding(6) var<storage, read_write> dx: array<f32>;     // (R,C)
@group(0) @binding(7) var<storage, read_write> part: array<f32>;   // (parts,C)
// The same by fours, where C is a multiple of four: a software adapter pays per read, not per number read.
@group(0) @binding(1) var<storage, read> x_4: array<vec4f>;
@group(0) @binding(2) var<storage, read> w_4: array<vec4f>;
@group(0) @binding(3) var<storage, read_write> y_4: array<vec4f>;
@group(0) @binding(5) var<storage, read> dy_4: array<vec4f>;
@group(0) @binding(6) var<storage, read_write> dx_4: array<vec4f>;

//!include "row_sum.wgsl"

@compute @workgroup_size(WG)
fn forward(@builtin(workgroup_id) group: vec3u, @builtin(num_workgroups) groups: vec3u,
           @builtin(local_invocation_index) lane: u32) {
  let row = row_of(group, groups, lane);
  let first = lane % LANES;
  let end = select(0u, dims.cols, row < dims.rows);
  let base = row * dims.cols;
  var square = 0.0;
  for (var c = first; c < end; c += LANES) {
    let v = x[base + c];
    square = fma(v, v, square);
  }
  let r = inverseSqrt(row_sum(square, lane) / f32(dims.cols) + dims.eps);
  for (var c = first; c < end; c += LANES) { y[base + c] = x[base + c] * r * (w[c] + dims.shift); }
  if (first == 0u && row < dims.rows) { rstd[row] = r; }
}

@compute @workgroup_size(WG)
fn backward(@builtin(workgroup_id) group: vec3u, @builtin(num_workgroups) groups: vec3u,
            @builtin(local_invocation_index) lane: u32) {
  let row = row_of(group, groups, lane);
  let first = lane % LANES;
  let end = select(0u, dims.cols, row < dims.rows);
  let base = row * dims.cols;
  let r = rstd[min(row, dims.rows - 1u)];
  var dot = 0.0;
  for (var c = first; c < end; c += LANES) { dot = fma(x[base + c] * (w[c] + dims.shift), dy[base + c], dot); }
  let mean = row_sum(dot, lane) * r * r / f32(dims.cols);
  for (var c = first; c < end; c += LANES) {
    let i = base + c;
    let g = r * (dy[i] * (w[c] + dims.shift) - x[i] * mean);
    if (dims.add == 1u) { dx[i] += g; } else { dx[i] = g; }
  }
}

/// sum + a.b, in ascending order.
fn add_products(a: vec4f, b: vec4f, sum: f32) -> f32 {
  return fma(a.w, b.w, fma(a.z, b.z, fma(a.y, b.y, fma(a.x, b.x, sum))));
}

@compute @workgroup_size(WG)
fn forward_4(@builtin(workgroup_id) group: vec3u, @builtin(num_workgroups) groups: vec3u,
             @builtin(local_invocation_index) lane: u32) {
  let row = row_of(group, groups, lane);
  let first = lane % LANES;
  let end = select(0u, dims.cols / 4u, row < dims.rows);
  let base = row * (dims.cols / 4u);
  var square = 0.0;
  for (var c = first; c < end; c += LANES) {
    let v = x_4[base + c];
    square = add_products(v, v, square);
  }
  let r = inverseSqrt(row_sum(square, lane) / f32(dims.cols) + dims.eps);
  for (var c = first; c < end; c += LANES) { y_4[base + c] = x_4[base + c] * r * (w_4[c] + dims.shift); }
  if (first == 0u && row < dims.rows) { rstd[row] = r; }
}

@compute @workgroup_size(WG)
fn backward_4(@builtin(workgroup_id) group: vec3u, @builtin(num_workgroups) groups: vec3u,
              @builtin(local_invocation_index) lane: u32) {
  let row = row_of(group, groups, lane);
  let first = lane % LANES;
  let end = select(0u, dims.cols / 4u, row < dims.rows);
  let base = row * (dims.cols / 4u);
  let r = rstd[min(row, dims.rows - 1u)];
  var dot = 0.0;
  for (var c = first; c < end; c += LANES) {
    dot = add_products(x_4[base + c] * (w_4[c] + dims.shift), dy_4[base + c], dot);
  }
  let mean = row_sum(dot, lane) * r * r / f32(dims.cols);
  for (var c = first; c < end; c += LANES) {
    let i = base + c;
    let g = r * (dy_4[i] * (w_4[c] + dims.shift) - x_4[i] * mean);
    if (dims.add == 1u) { dx_4[i] += g; } else { dx_4[i] = g; }
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
  var sum = select(0.0, part[p * dims.cols + c], CARRY);
  for (var row = first; row < last; row++) {
    sum = fma(dy[row * dims.cols + c] * x[row * dims.cols + c], rstd[row], sum);
  }
  part[p * dims.cols + c] = sum;
}
