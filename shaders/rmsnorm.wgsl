// RMSNorm over the last axis, forward and backward: y = x * rstd * (w + shift), rstd = 1 / sqrt(mean(x^2) + eps).
// shift is 1 for zero-centred weights (Gemma), else 0. One workgroup per row, strided loads, tree reduction.
// dx = rstd * (dy*g - x * rstd^2 * mean(x*dy*g)), g = w + shift. dw accumulates sum over rows of dy * x * rstd:
// gain_part sums ROWS rows per workgroup row into part (ceil(R/ROWS),C); gain_sum adds the parts to dw.
// Dispatch: forward, backward: R workgroups (2-D when > 65535); gain_part: (ceil(C/WG), ceil(R/ROWS)); gain_sum: ceil(C/WG).
// Source: Zhang & Sennrich 2019, arXiv:1910.07467.
struct Dims { rows: u32, cols: u32, eps: f32, shift: f32, add: u32, parts: u32 }

override WG: u32 = 64u;
override ROWS: u32 = 32u;

@group(0) @binding(0) var<uniform> dims: Dims;
@group(0) @binding(1) var<storage, read> x: array<f32>;            // (R,C)
@group(0) @binding(2) var<storage, read> w: array<f32>;            // (C)
@group(0) @binding(3) var<storage, read_write> y: array<f32>;      // (R,C)
@group(0) @binding(4) var<storage, read_write> rstd: array<f32>;   // (R)
@group(0) @binding(5) var<storage, read> dy: array<f32>;           // (R,C)
@group(0) @binding(6) var<storage, read_write> dx: array<f32>;     // (R,C)
@group(0) @binding(7) var<storage, read_write> part: array<f32>;   // (ceil(R/ROWS),C)
@group(0) @binding(8) var<storage, read_write> dw: array<f32>;     // (C)

var<workgroup> partial: array<f32, WG>;

fn reduce_sum(value: f32, lane: u32) -> f32 {
  partial[lane] = value;
  workgroupBarrier();
  for (var half = WG / 2u; half > 0u; half /= 2u) {
    if (lane < half) { partial[lane] += partial[lane + half]; }
    workgroupBarrier();
  }
  return partial[0];
}

@compute @workgroup_size(WG)
fn forward(@builtin(workgroup_id) group: vec3u, @builtin(num_workgroups) groups: vec3u,
           @builtin(local_invocation_index) lane: u32) {
  let row = group.y * groups.x + group.x;
  if (row >= dims.rows) { return; }
  let base = row * dims.cols;
  var square = 0.0;
  for (var c = lane; c < dims.cols; c += WG) { square = fma(x[base + c], x[base + c], square); }
  let r = inverseSqrt(reduce_sum(square, lane) / f32(dims.cols) + dims.eps);
  for (var c = lane; c < dims.cols; c += WG) { y[base + c] = x[base + c] * r * (w[c] + dims.shift); }
  if (lane == 0u) { rstd[row] = r; }
}

@compute @workgroup_size(WG)
fn backward(@builtin(workgroup_id) group: vec3u, @builtin(num_workgroups) groups: vec3u,
            @builtin(local_invocation_index) lane: u32) {
  let row = group.y * groups.x + group.x;
  if (row >= dims.rows) { return; }
  let base = row * dims.cols;
  let r = rstd[row];
  var dot = 0.0;
  for (var c = lane; c < dims.cols; c += WG) {
    dot = fma(x[base + c] * (w[c] + dims.shift), dy[base + c], dot);
  }
  let mean = reduce_sum(dot, lane) * r * r / f32(dims.cols);
  for (var c = lane; c < dims.cols; c += WG) {
    let i = base + c;
    let g = r * (dy[i] * (w[c] + dims.shift) - x[i] * mean);
    dx[i] = select(g, dx[i] + g, dims.add == 1u);
  }
}

@compute @workgroup_size(WG)
fn gain_part(@builtin(workgroup_id) group: vec3u, @builtin(local_invocation_index) lane: u32) {
  let c = group.x * WG + lane;
  if (c >= dims.cols) { return; }
  let first = group.y * ROWS;
  let last = min(first + ROWS, dims.rows);
  var sum = 0.0;
  for (var row = first; row < last; row++) {
    sum = fma(dy[row * dims.cols + c] * x[row * dims.cols + c], rstd[row], sum);
  }
  part[group.y * dims.cols + c] = sum;
}

@compute @workgroup_size(WG)
fn gain_sum(@builtin(workgroup_id) group: vec3u, @builtin(local_invocation_index) lane: u32) {
  let c = group.x * WG + lane;
  if (c >= dims.cols) { return; }
  var sum = dw[c];
  for (var p = 0u; p < dims.parts; p++) { sum += part[p * dims.cols + c]; }
  dw[c] = sum;
}
