// y = value. y any shape, taken as elements. Dispatch: span.wgsl.
struct Dims { count: u32, value: f32 }

@group(0) @binding(0) var<uniform> dims: Dims;
@group(0) @binding(1) var<storage, read_write> y: array<f32>;

//!include "span.wgsl"

@compute @workgroup_size(WG)
fn fill(@builtin(workgroup_id) group: vec3u, @builtin(num_workgroups) groups: vec3u,
        @builtin(local_invocation_index) lane: u32) {
  let span = span_of(group, groups, lane, dims.count);
  for (var i = span.first; i < span.end; i += WG) { y[i] = dims.value; }
}
