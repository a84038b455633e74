// RMSNorm of every query and key head of packed projections, values copied, forward and backward.
// A row is [q heads | k heads | v heads], each head D wide: y = x * rstd * (w + shift), rstd = 1 / sqrt(mean(x^2) + eps)
// per head, w = wq for query heads and wk for key heads. dx = rstd * (dy*g - x * rstd^2 * mean(x*dy*g)), g = w + shift;
// dw sums dy * x * rstd over tokens and heads (partial sums of ROWS tokens here, added up by column_sum.wgsl).
// Dispatch: forward, backward: row_sum.wgsl over T*(H+2KV) heads; gain_part: (ceil(D/WG), parts).
// Source: RMSNorm, Zhang & Sennrich 2019, arXiv:1910.07467; on heads, Henry et al. 2020, arXiv:2010.04245.
struct Dims {
  items: u32, heads: u32, kv_heads: u32, width: u32, eps: f32, shift: f32, add: u32,
  tokens: u32, first_head: u32, head_count: u32
}

override ROWS: u32 = 32u;
/// Sums go on from what part holds.
override CARRY: bool = false;

@group(0) @binding(0) var<uniform> dims: Dims;
@group(0) @binding(1) var<storage, read> qkv: array<f32>;          // (T,H+2KV,D)
@group(0) @binding(2) var<storage, read> wq: array<f32>;           // (D)
@group(0) @binding(3) var<storage, read> wk: array<f32>;           // (D)
@group(0) @binding(4) var<storage, read_write> y: array<f32>;      // (T,H+2KV,D)
@group(0) @binding(5) var<storage, read_write> rstd: array<f32>;   // (T,H+2KV); 1 for value heads
@group(0) @binding(6) var<storage, read> dy: array<f32>;           // (T,H+2KV,D)
@group(0) @binding(7) var<storage, read_write> dqkv: array<f32>;   // (T,H+2KV,D)
@group(0) @binding(8) var<storage, read_write> part: array<f32>;   // (parts,D)

//!include "row_sum.wgsl"

fn head_of(item: u32) -> u32 { return item % (dims.heads + 2u * dims.kv_heads); }

/// Weight of column c of a head; value heads have none.
fn gain(head: u32, c: u32) -> f32 {
  if (head < dims.heads) { return wq[c] + dims.shift; }
  return wk[c] + dims.shift;
}

@compute @workgroup_size(WG)
fn forward(@builtin(workgroup_id) group: vec3u, @builtin(num_workgroups) groups: vec3u,
           @builtin(local_invocation_index) lane: u32) {
  let item = row_of(group, groups, lane);
  let first = lane % LANES;
  let end = select(0u, dims.width, item < dims.items);
  let base = item * dims.width;
  let head = head_of(item);
  let normed = head < dims.heads + dims.kv_heads;
  var square = 0.0;
  for (var c = first; c < select(0u, end, normed); c += LANES) { square = fma(qkv[base + c], qkv[base + c], square); }
  let r = select(1.0, inverseSqrt(row_sum(square, lane) / f32(dims.width) + dims.eps), normed);
  for (var c = first; c < end; c += LANES) {
    var g = 1.0;
    if (normed) { g = gain(head, c); }
    y[base + c] = qkv[base + c] * r * g;
  }
  if (first == 0u && item < dims.items) { rstd[item] = r; }
}

@compute @workgroup_size(WG)
fn backward(@builtin(workgroup_id) group: vec3u, @builtin(num_workgroups) groups: vec3u,
            @builtin(local_invocation_index) lane: u32) {
  let item = row_of(group, groups, lane);
  let first = lane % LANES;
  let end = select(0u, dims.width, item < dims.items);
  let base = item * dims.width;
  let head = head_of(item);
  let normed = head < dims.heads + dims.kv_heads;
  let r = rstd[min(item, dims.items - 1u)];
  var dot = 0.0;
  for (var c = first; c < select(0u, end, normed); c += LANES) {
    dot = fma(qkv[base + c] * gain(head, c), dy[base + c], dot);
  }
  let mean = row_sum(dot, lane) * r * r / f32(dims.width);
  for (var c = first; c < end; c += LANES) {
    let i = base + c;
    var g = dy[i];
    if (normed) { g = r * (dy[i] * gain(head, c) - qkv[i] * mean); }
    if (dims.add == 1u) { dqkv[i] += g; } else { dqkv[i] = g; }
  }
}

@compute @workgroup_size(WG)
fn gain_part(@builtin(workgroup_id) group: vec3u, @builtin(num_workgroups) groups: vec3u,
             @builtin(local_invocation_index) lane: u32) {
  let c = group.x * WG + lane;
  let p = group.z * groups.y + group.y;
  let first = p * ROWS;
  if (c >= dims.width || first >= dims.tokens) { return; }
  let last = first + min(ROWS, dims.tokens - first);
  let stride = dims.heads + 2u * dims.kv_heads;
  var sum = select(0.0, part[p * dims.width + c], CARRY);
  for (var t = first; t < last; t++) {
    for (var h = 0u; h < dims.head_count; h++) {
      let item = t * stride + dims.first_head + h;
      sum = fma(dy[item * dims.width + c] * qkv[item * dims.width + c], rstd[item], sum);
    }
  }
  part[p * dims.width + c] = sum;
}
