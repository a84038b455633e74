// AdamW with decoupled decay, one element per loop turn; skipped as a whole when stats says so.
// g = grad * scale; p *= 1 - lr*decay; m += (1 - beta1) (g - m); v = beta2 v + (1 - beta2) g^2;
// p -= step_size * m / (sqrt(v) / root_correction + eps), step_size = lr / (1 - beta1^t), root_correction =
// sqrt(1 - beta2^t). The differences from 1 come from the host in float64. Dispatch: span.wgsl.
// Source: Loshchilov & Hutter 2017 (arXiv:1711.05101), in the order of operations of torch.optim.AdamW.
struct Dims {
  count: u32, keep: f32, one_minus_beta1: f32, beta2: f32, one_minus_beta2: f32, step_size: f32,
  root_correction: f32, eps: f32
}

@group(0) @binding(0) var<uniform> dims: Dims;
@group(0) @binding(1) var<storage, read_write> params: array<f32>;
@group(0) @binding(2) var<storage, read> grads: array<f32>;
@group(0) @binding(3) var<storage, read_write> m: array<f32>;
@group(0) @binding(4) var<storage, read_write> v: array<f32>;
@group(0) @binding(5) var<storage, read> stats: array<f32>;       // (4): norm, scale, skipped, not finite
// The same by fours, where their number is a multiple of four: a software adapter pays per read, not per number read.
@group(0) @binding(1) var<storage, read_write> params_4: array<vec4f>;
@group(0) @binding(2) var<storage, read> grads_4: array<vec4f>;
@group(0) @binding(3) var<storage, read_write> m_4: array<vec4f>;
@group(0) @binding(4) var<storage, read_write> v_4: array<vec4f>;

//!include "span.wgsl"

@compute @workgroup_size(WG)
fn adamw(@builtin(workgroup_id) group: vec3u, @builtin(num_workgroups) groups: vec3u,
         @builtin(local_invocation_index) lane: u32) {
  if (stats[2] != 0.0) { return; }
  let scale = stats[1];
  let span = span_of(group, groups, lane, dims.count);
  for (var i = span.first; i < span.end; i += WG) {
    let g = grads[i] * scale;
    let first = fma(dims.one_minus_beta1, g - m[i], m[i]);
    let second = fma(dims.one_minus_beta2 * g, g, dims.beta2 * v[i]);
    m[i] = first;
    v[i] = second;
    let p = params[i] * dims.keep;
    params[i] = p - dims.step_size * (first / (sqrt(second) / dims.root_correction + dims.eps));
  }
}

@compute @workgroup_size(WG)
fn adamw_4(@builtin(workgroup_id) group: vec3u, @builtin(num_workgroups) groups: vec3u,
           @builtin(local_invocation_index) lane: u32) {
  if (stats[2] != 0.0) { return; }
  let scale = stats[1];
  let span = span_of(group, groups, lane, dims.count / 4u);
  for (var i = span.first; i < span.end; i += WG) {
    let g = grads_4[i] * scale;
    let old = m_4[i];
    let first = fma(vec4f(dims.one_minus_beta1), g - old, old);
    let second = fma(dims.one_minus_beta2 * g, g, dims.beta2 * v_4[i]);
    m_4[i] = first;
    v_4[i] = second;
    let p = params_4[i] * dims.keep;
    params_4[i] = p - dims.step_size * (first / (sqrt(second) / dims.root_correction + dims.eps));
  }
}
