// Activation functions of the MLP, forward and backward. Plain: y = f(x), x and y (T,F). Gated: x (T,2F) is [gate | up],
// y (T,F) = f(gate) * up. KIND 0 silu: f(v) = v s(v), s the logistic function. KIND 1 gelu: f(v) = v P(v), P the normal
// distribution function by erfc. KIND 2 gelu_tanh: f(v) = v s(2u), u = sqrt(2/pi) (v + 0.044715 v^3), which is
// 0.5 v (1 + tanh u) without its cancellation. Arguments of exp are bounded, so nothing overflows to NaN; a NaN in x
// stays one in y.
// Dispatch: span.wgsl over T*F elements, or fours of them. Sources: Elfwing et al. 2017 (arXiv:1702.03118), Hendrycks & Gimpel 2016
// (arXiv:1606.08415), gates: Shazeer 2020 (arXiv:2002.05202).
struct Dims { count: u32, width: u32, add: u32 }

override KIND: u32 = 0u;

@group(0) @binding(0) var<uniform> dims: Dims;
@group(0) @binding(1) var<storage, read> x: array<f32>;          // (T,F) or (T,2F)
@group(0) @binding(2) var<storage, read_write> y: array<f32>;    // (T,F)
@group(0) @binding(3) var<storage, read> dy: array<f32>;         // (T,F)
@group(0) @binding(4) var<storage, read_write> dx: array<f32>;   // as x

// By fours, where F is a multiple of four: a software adapter pays per read, not per number read.
@group(0) @binding(1) var<storage, read> x_4: array<vec4f>;
@group(0) @binding(2) var<storage, read_write> y_4: array<vec4f>;
@group(0) @binding(3) var<storage, read> dy_4: array<vec4f>;
@group(0) @binding(4) var<storage, read_write> dx_4: array<vec4f>;

//!include "span.wgsl"

/// (s(v), 1 - s(v)) of the logistic function, neither by a difference.
fn logistic(v: f32) -> vec2f {
  let e = exp(-min(abs(v), 80.0));
  let large = 1.0 / (1.0 + e);
  return select(vec2f(e * large, large), vec2f(large, e * large), v > 0.0);
}

/// (f(v), f'(v)) of silu.
fn silu(v: f32) -> vec2f {
  let s = logistic(v);
  return vec2f(select(v * s.x, 0.0, v < -80.0), s.x * fma(clamp(v, -80.0, 80.0), s.y, 1.0));
}

/// (f(v), f'(v)) of gelu_tanh.
fn gelu_tanh(v: f32) -> vec2f {
  let c = clamp(v, -30.0, 30.0);
  let s = logistic(1.5957691216 * c * fma(0.044715 * c, c, 1.0));
  let slope = 1.5957691216 * fma(0.134145 * c, c, 1.0);
  return vec2f(select(v * s.x, 0.0, v < -30.0), fma(c * slope, s.x * s.y, s.x));
}

/// (f(v), f'(v)) of gelu. With z = |v|/sqrt(2) and t = 1/(1 + z/2), erfc(z) = t Q(t) exp(-z^2); Q is a polynomial
/// fitted by Remez exchange on z in [0,10], relative error 4.3e-8.
fn gelu(v: f32) -> vec2f {
  let z = min(abs(v) * 0.7071067812, 13.0);
  let t = 1.0 / fma(0.5, z, 1.0);
  let e = exp(-z * z);
  var q = -0.0590689636974;
  q = fma(q, t, 0.284574967608);
  q = fma(q, t, -0.487199882255);
  q = fma(q, t, 0.278067115502);
  q = fma(q, t, -0.0266256201176);
  q = fma(q, t, 0.202686845045);
  q = fma(q, t, 0.243103769561);
  q = fma(q, t, 0.282375307551);
  q = fma(q, t, 0.282086417919);
  let tail = 0.5 * t * q * e;
  let p = select(1.0 - tail, tail, v < 0.0);
  return vec2f(select(v * p, 0.0, v < -30.0), fma(clamp(v, -20.0, 20.0) * 0.3989422804, e, p));
}

fn value_and_slope(v: f32) -> vec2f {
  if (KIND == 0u) { return silu(v); }
  if (KIND == 1u) { return gelu(v); }
  return gelu_tanh(v);
}

struct Four { value: vec4f, slope: vec4f }

fn four(v: vec4f) -> Four {
  let x = value_and_slope(v.x);
  let y = value_and_slope(v.y);
  let z = value_and_slope(v.z);
  let w = value_and_slope(v.w);
  return Four(vec4f(x.x, y.x, z.x, w.x), vec4f(x.y, y.y, z.y, w.y));
}

@compute @workgroup_size(WG)
fn forward_4(@builtin(workgroup_id) group: vec3u, @builtin(num_workgroups) groups: vec3u,
             @builtin(local_invocation_index) lane: u32) {
  let span = span_of(group, groups, lane, dims.count / 4u);
  for (var i = span.first; i < span.end; i += WG) { y_4[i] = four(x_4[i]).value; }
}

@compute @workgroup_size(WG)
fn forward_gated_4(@builtin(workgroup_id) group: vec3u, @builtin(num_workgroups) groups: vec3u,
                   @builtin(local_invocation_index) lane: u32) {
  let width = dims.width / 4u;
  let span = span_of(group, groups, lane, dims.count / 4u);
  var cell = cell_of(span.first, width);
  for (var i = span.first; i < span.end; i += WG) {
    let at = i + cell.row * width;
    y_4[i] = four(x_4[at]).value * x_4[at + width];
    cell = next_cell(cell, width);
  }
}

fn store_4(at: u32, value: vec4f) {
  if (dims.add == 1u) { dx_4[at] += value; } else { dx_4[at] = value; }
}

@compute @workgroup_size(WG)
fn backward_4(@builtin(workgroup_id) group: vec3u, @builtin(num_workgroups) groups: vec3u,
              @builtin(local_invocation_index) lane: u32) {
  let span = span_of(group, groups, lane, dims.count / 4u);
  for (var i = span.first; i < span.end; i += WG) { store_4(i, dy_4[i] * four(x_4[i]).slope); }
}

@compute @workgroup_size(WG)
fn backward_gated_4(@builtin(workgroup_id) group: vec3u, @builtin(num_workgroups) groups: vec3u,
                    @builtin(local_invocation_index) lane: u32) {
  let width = dims.width / 4u;
  let span = span_of(group, groups, lane, dims.count / 4u);
  var cell = cell_of(span.first, width);
  for (var i = span.first; i < span.end; i += WG) {
    let at = i + cell.row * width;
    let f = four(x_4[at]);
    let g = dy_4[i];
    store_4(at, g * f.slope * x_4[at + width]);
    store_4(at + width, g * f.value);
    cell = next_cell(cell, width);
  }
}

@compute @workgroup_size(WG)
fn forward(@builtin(workgroup_id) group: vec3u, @builtin(num_workgroups) groups: vec3u,
           @builtin(local_invocation_index) lane: u32) {
  let span = span_of(group, groups, lane, dims.count);
  for (var i = span.first; i < span.end; i += WG) { y[i] = value_and_slope(x[i]).x; }
}

@compute @workgroup_size(WG)
fn forward_gated(@builtin(workgroup_id) group: vec3u, @builtin(num_workgroups) groups: vec3u,
                 @builtin(local_invocation_index) lane: u32) {
  let span = span_of(group, groups, lane, dims.count);
  var cell = cell_of(span.first, dims.width);
  for (var i = span.first; i < span.end; i += WG) {
    let at = i + cell.row * dims.width;
    y[i] = value_and_slope(x[at]).x * x[at + dims.width];
    cell = next_cell(cell, dims.width);
  }
}

fn store(at: u32, value: f32) {
  if (dims.add == 1u) { dx[at] += value; } else { dx[at] = value; }
}

@compute @workgroup_size(WG)
fn backward(@builtin(workgroup_id) group: vec3u, @builtin(num_workgroups) groups: vec3u,
            @builtin(local_invocation_index) lane: u32) {
  let span = span_of(group, groups, lane, dims.count);
  for (var i = span.first; i < span.end; i += WG) { store(i, dy[i] * value_and_slope(x[i]).y); }
}

@compute @workgroup_size(WG)
fn backward_gated(@builtin(workgroup_id) group: vec3u, @builtin(num_workgroups) groups: vec3u,
                  @builtin(local_invocation_index) lane: u32) {
  let span = span_of(group, groups, lane, dims.count);
  var cell = cell_of(span.first, dims.width);
  for (var i = span.first; i < span.end; i += WG) {
    let at = i + cell.row * dims.width;
    let f = value_and_slope(x[at]);
    let g = dy[i];
    store(at, g * f.y * x[at + dims.width]);
    store(at + dims.width, g * f.x);
    cell = next_cell(cell, dims.width);
  }
}
