// sum (C) += sum over p of part (P,C), rows in ascending order: the last step of a parameter gradient.
// Dispatch: ceil(C/WG) workgroups.
struct Dims { parts: u32, cols: u32 }

override WG: u32 = 64u;

@group(0) @binding(0) var<uniform> dims: Dims;
@group(0) @binding(1) var<storage, read> part: array<f32>;         // (P,C)
@group(0) @binding(2) var<storage, read_write> sum: array<f32>;    // (C)

@compute @workgroup_size(WG)
fn column_sum(@builtin(global_invocation_id) id: vec3u) {
  let c = id.x;
  if (c >= dims.cols) { return; }
  var total = sum[c];
  for (var p = 0u; p < dims.parts; p++) { total += part[p * dims.cols + c]; }
  sum[c] = total;
}
