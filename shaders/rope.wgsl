// Rotary position embedding in place on the query and key heads of packed projections. A row is [q heads | k heads |
// v heads], each D wide; of each of the first H+KV heads the first 2*half dimensions turn as pairs (i, i + half):
// (a, b) -> f * (a cos - b sin, b cos + a sin), angle = pos * inv_freq[i] in f32, f = attention scaling.
// sign = -1 turns by the negative angle: the gradient's way back.
// Dispatch: (ceil(T*half/WG), ceil((H+KV)/HEADS)) workgroups, the first split in x and z past 65535.
// Source: Su et al. 2021, arXiv:2104.09864, with the half-split pairs of the published Llama checkpoints.
struct Dims { rows: u32, half: u32, rotated_heads: u32, stride: u32, width: u32, scaling: f32, sign: f32 }

override WG: u32 = 64u;
override HEADS: u32 = 1u;

@group(0) @binding(0) var<uniform> dims: Dims;
@group(0) @binding(1) var<storage, read> pos: array<u32>;             // (T)
@group(0) @binding(2) var<storage, read> inv_freq: array<f32>;        // (half)
@group(0) @binding(3) var<storage, read_write> qkv: array<f32>;       // (T,stride)

//!include "sincos.wgsl"

@compute @workgroup_size(WG)
fn rotate(@builtin(workgroup_id) group: vec3u, @builtin(num_workgroups) groups: vec3u,
          @builtin(local_invocation_index) lane: u32) {
  let index = (group.z * groups.x + group.x) * WG + lane;
  let row = index / dims.half;
  if (row >= dims.rows) { return; }
  let i = index - row * dims.half;
  let turn = sincos(f32(pos[row]) * inv_freq[i], dims.half == 0u) * dims.scaling;
  let s = turn.x * dims.sign;
  let c = turn.y;
  let first = group.y * HEADS;
  let end = min(first + HEADS, dims.rotated_heads);
  for (var h = first; h < end; h++) {
    let at = row * dims.stride + h * dims.width + i;
    let a = qkv[at];
    let b = qkv[at + dims.half];
    qkv[at] = a * c - b * s;
    qkv[at + dims.half] = b * c + a * s;
  }
}
