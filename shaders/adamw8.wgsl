// AdamW (adamw.wgsl) with both moments in 8 bits: blocks of 64 elements share an f32 scale, their largest magnitude, and a
// code is the logarithm of an element's share of it: m = sign * scale * 2^((level - 127) / 8), level in 7 bits;
// v = scale * 2^((level - 255) / 12), level in 8 bits; level 0 is 0. Levels are rounded up or down by a dither drawn from the
// step and the element so that the mean is right: rounding to the nearest would undo a slow decay step after step. A v
// above 0 stays above 0.
// One invocation per block. Dispatch: ceil(blocks / WG), in x and y past 65535.
// Source: block-wise 8-bit states: Dettmers et al. 2021, arXiv:2110.02861.
struct Dims {
  count: u32, first: u32, seed: u32, keep: f32, one_minus_beta1: f32, beta2: f32, one_minus_beta2: f32, step_size: f32,
  root_correction: f32, eps: f32
}

override WG: u32 = 8u;

@group(0) @binding(0) var<uniform> dims: Dims;
@group(0) @binding(1) var<storage, read_write> params: array<f32>;
@group(0) @binding(2) var<storage, read> grads: array<f32>;
@group(0) @binding(3) var<storage, read_write> m_codes: array<u32>;     // four to a word
@group(0) @binding(4) var<storage, read_write> m_scales: array<f32>;    // (blocks)
@group(0) @binding(5) var<storage, read_write> v_codes: array<u32>;
@group(0) @binding(6) var<storage, read_write> v_scales: array<f32>;
@group(0) @binding(7) var<storage, read> stats: array<f32>;             // (4): norm, scale, skipped, not finite

const block = 64u;
/// Levels to a factor of two.
const steps_m = 8.0;
const steps_v = 12.0;

fn decode_m(code: u32, scale: f32) -> f32 {
  let level = code & 127u;
  let size = scale * exp2((f32(level) - 127.0) / steps_m);
  return select(select(size, -size, code >= 128u), 0.0, level == 0u);
}

fn decode_v(code: u32, scale: f32) -> f32 {
  return select(scale * exp2((f32(code) - 255.0) / steps_v), 0.0, code == 0u);
}

/// Uniform in [0, 1) from the step and an element's number (a finalizer of MurmurHash3).
fn dither(element: u32, salt: u32) -> f32 {
  var h = (element * 0x9e3779b9u) ^ (dims.seed * 0x85ebca6bu + salt);
  h = (h ^ (h >> 16u)) * 0x85ebca6bu;
  h = (h ^ (h >> 13u)) * 0xc2b2ae35u;
  return f32((h ^ (h >> 16u)) >> 8u) / 16777216.0;
}

/// Level of a share of the scale in (0, 1], rounded up or down so that the expected value is the share itself.
fn level_of(share: f32, top: f32, steps: f32, noise: f32) -> f32 {
  let below = max(floor(top + steps * log2(share)), 0.0);
  let low = select(exp2((below - top) / steps), 0.0, below == 0.0);
  let high = exp2((below + 1.0 - top) / steps);
  return min(below + select(0.0, 1.0, noise < (share - low) / (high - low)), top);
}

fn encode_m(x: f32, scale: f32, noise: f32) -> u32 {
  if (x == 0.0 || scale == 0.0) { return 0u; }
  let level = u32(level_of(abs(x) / scale, 127.0, steps_m, noise));
  return select(level | select(0u, 128u, x < 0.0), 0u, level == 0u);
}

fn encode_v(x: f32, scale: f32, noise: f32) -> u32 {
  if (x == 0.0 || scale == 0.0) { return 0u; }
  return max(u32(level_of(x / scale, 255.0, steps_v, noise)), 1u);
}

struct Moments { m: f32, v: f32 }

fn next_moments(i: u32, m_scale: f32, v_scale: f32) -> Moments {
  let shift = 8u * (i & 3u);
  let m = decode_m((m_codes[i >> 2u] >> shift) & 255u, m_scale);
  let v = decode_v((v_codes[i >> 2u] >> shift) & 255u, v_scale);
  let g = grads[i] * stats[1];
  return Moments(fma(dims.one_minus_beta1, g - m, m), fma(dims.one_minus_beta2 * g, g, dims.beta2 * v));
}

@compute @workgroup_size(WG)
fn adamw8(@builtin(workgroup_id) group: vec3u, @builtin(num_workgroups) groups: vec3u,
          @builtin(local_invocation_index) lane: u32) {
  let b = (group.y * groups.x + group.x) * WG + lane;
  let start = b * block;
  if (stats[2] != 0.0 || start >= dims.count) { return; }
  let m_scale = m_scales[b];
  let v_scale = v_scales[b];
  let end = min(start + block, dims.count);
  var largest = Moments(0.0, 0.0);
  for (var i = start; i < end; i++) {
    let next = next_moments(i, m_scale, v_scale);
    largest = Moments(max(largest.m, abs(next.m)), max(largest.v, next.v));
  }
  var words = vec2u();
  for (var i = start; i < end; i++) {
    let next = next_moments(i, m_scale, v_scale);
    let shift = 8u * (i & 3u);
    words = select(words, vec2u(), shift == 0u);
    let element = dims.first + i;
    words |= vec2u(encode_m(next.m, largest.m, dither(element, 1u)), encode_v(next.v, largest.v, dither(element, 2u)))
             << vec2u(shift);
    let p = params[i] * dims.keep;
    params[i] = p - dims.step_size * (next.m / (sqrt(next.v) / dims.root_correction + dims.eps));
    // The word's own elements have all been read by now; later ones are in other words.
    if ((i & 3u) == 3u || i + 1u == end) {
      m_codes[i >> 2u] = words.x;
      v_codes[i >> 2u] = words.y;
    }
  }
  m_scales[b] = largest.m;
  v_scales[b] = largest.v;
}
