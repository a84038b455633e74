// Bias gradient of linear: dbias (N) += sum over rows of dy (T,N). bias_part sums ROWS rows per workgroup row into part
// (ceil(T/ROWS),N); column_sum.wgsl adds the parts up. The products of linear are those of src/ops/matmul.
// Dispatch: (ceil(N/WG), parts), parts in two dimensions past 65,535.
struct Dims { rows: u32, cols: u32 }

override WG: u32 = 32u;
override ROWS: u32 = 32u;
/// Sums go on from what part holds.
override CARRY: bool = false;

@group(0) @binding(0) var<uniform> dims: Dims;
@group(0) @binding(1) var<storage, read> dy: array<f32>;            // (T,N)
@group(0) @binding(2) var<storage, read_write> part: array<f32>;    // (ceil(T/ROWS),N)

@compute @workgroup_size(WG)
fn bias_part(@builtin(workgroup_id) group: vec3u, @builtin(num_workgroups) groups: vec3u,
             @builtin(local_invocation_index) lane: u32) {
  let c = group.x * WG + lane;
  let p = group.z * groups.y + group.y;
  let first = p * ROWS;
  if (c >= dims.cols || first >= dims.rows) { return; }
  let last = first + min(ROWS, dims.rows - first);
  var sum = select(0.0, part[p * dims.cols + c], CARRY);
  for (var row = first; row < last; row++) { sum += dy[row * dims.cols + c]; }
  part[p * dims.cols + c] = sum;
}
