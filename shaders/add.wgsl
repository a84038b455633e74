// y += x, elementwise. x, y of one shape. Dispatch: span.wgsl.
struct Dims { count: u32 }

@group(0) @binding(0) var<uniform> dims: Dims;
@group(0) @binding(1) var<storage, read> x: array<f32>;
@group(0) @binding(2) var<storage, read_write> y: array<f32>;

//!include "span.wgsl"

@compute @workgroup_size(WG)
fn add(@builtin(workgroup_id) group: vec3u, @builtin(num_workgroups) groups: vec3u,
       @builtin(local_invocation_index) lane: u32) {
  let span = span_of(group, groups, lane, dims.count);
  for (var i = span.first; i < span.end; i += WG) { y[i] += x[i]; }
}
