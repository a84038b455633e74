// Matrix product by tiles in workgroup memory, for GPUs: C = op(A) op(B) + bias + residual (+ C when add is 1).
// A is (M,K), or (K,M) when A_TRANSPOSED; B is (K,N), or (N,K) when B_TRANSPOSED; C and residual are (M,N), bias (N).
// A workgroup of 8x8 threads owns 32x32 outputs, a thread 4x4 of them in registers; K advances 16 at a time. Any sizes:
// what lies outside is read as 0 and not written. Terms are added in ascending k, one accumulator per output.
// Dispatch: (ceil(N / 32), ceil(M / 32)).
struct Dims { m: u32, n: u32, k: u32, add: u32 }

override A_TRANSPOSED: bool = false;
override B_TRANSPOSED: bool = false;

@group(0) @binding(0) var<uniform> dims: Dims;
@group(0) @binding(1) var<storage, read> a: array<f32>;           // (M,K) or (K,M)
@group(0) @binding(2) var<storage, read> b: array<f32>;           // (K,N) or (N,K)
@group(0) @binding(3) var<storage, read_write> c: array<f32>;     // (M,N)
@group(0) @binding(4) var<storage, read> bias: array<f32>;        // (N)
@group(0) @binding(5) var<storage, read> residual: array<f32>;    // (M,N)

const tile = 32u;
const depth = 16u;
const threads = 64u;
// One word of padding keeps the columns of a tile in different banks.
const pitch = 33u;

var<workgroup> a_tile: array<f32, 528>; // depth * pitch
var<workgroup> b_tile: array<f32, 528>;

fn a_value(row: u32, k: u32) -> f32 {
  if (row >= dims.m || k >= dims.k) { return 0.0; }
  if (A_TRANSPOSED) { return a[k * dims.m + row]; }
  return a[row * dims.k + k];
}

fn b_value(k: u32, col: u32) -> f32 {
  if (col >= dims.n || k >= dims.k) { return 0.0; }
  if (B_TRANSPOSED) { return b[col * dims.k + k]; }
  return b[k * dims.n + col];
}

// Neighbouring threads read neighbouring words: along k for matrices stored by rows of k, else across it.
fn load_tiles(row: u32, col: u32, k: u32, thread: u32) {
  for (var i = thread; i < tile * depth; i += threads) {
    let along = vec2u(i / depth, i % depth);
    let across = vec2u(i % tile, i / tile);
    let at_a = select(along, across, A_TRANSPOSED);
    let at_b = select(across, along, B_TRANSPOSED);
    a_tile[at_a.y * pitch + at_a.x] = a_value(row + at_a.x, k + at_a.y);
    b_tile[at_b.y * pitch + at_b.x] = b_value(k + at_b.y, col + at_b.x);
  }
}

fn product(row: u32, col: u32, local: vec3u) -> array<vec4f, 4> {
  var sum = array<vec4f, 4>();
  // A sum over k in several products, one after another, is then the same to the last bit as in one.
  for (var i = 0u; i < 16u * dims.add; i++) {
    let at = vec2u(row + 4u * local.y + i / 4u, col + 4u * local.x + i % 4u);
    if (at.x < dims.m && at.y < dims.n) { sum[i / 4u][i % 4u] = c[at.x * dims.n + at.y]; }
  }
  for (var k = 0u; k < dims.k; k += depth) {
    load_tiles(row, col, k, local.y * 8u + local.x);
    workgroupBarrier();
    for (var q = 0u; q < depth; q++) {
      let at_a = q * pitch + 4u * local.y;
      let at_b = q * pitch + 4u * local.x;
      let w = vec4f(b_tile[at_b], b_tile[at_b + 1u], b_tile[at_b + 2u], b_tile[at_b + 3u]);
      sum[0] = fma(vec4f(a_tile[at_a]), w, sum[0]);
      sum[1] = fma(vec4f(a_tile[at_a + 1u]), w, sum[1]);
      sum[2] = fma(vec4f(a_tile[at_a + 2u]), w, sum[2]);
      sum[3] = fma(vec4f(a_tile[at_a + 3u]), w, sum[3]);
    }
    workgroupBarrier();
  }
  return sum;
}

// Row and column of a thread's output number 0 to 15.
fn place(group: vec3u, local: vec3u, number: u32) -> vec2u {
  return tile * group.yx + 4u * local.yx + vec2u(number / 4u, number % 4u);
}

fn put(at: vec2u, value: f32) {
  if (at.x >= dims.m || at.y >= dims.n) { return; }
  let i = at.x * dims.n + at.y;
  c[i] = value;
}

@compute @workgroup_size(8, 8)
fn plain(@builtin(workgroup_id) group: vec3u, @builtin(local_invocation_id) local: vec3u) {
  var sum = product(tile * group.y, tile * group.x, local);
  for (var i = 0u; i < 16u; i++) { put(place(group, local, i), sum[i / 4u][i % 4u]); }
}

@compute @workgroup_size(8, 8)
fn with_bias(@builtin(workgroup_id) group: vec3u, @builtin(local_invocation_id) local: vec3u) {
  var sum = product(tile * group.y, tile * group.x, local);
  for (var i = 0u; i < 16u; i++) {
    let at = place(group, local, i);
    put(at, sum[i / 4u][i % 4u] + bias[min(at.y, dims.n - 1u)]);
  }
}

@compute @workgroup_size(8, 8)
fn with_residual(@builtin(workgroup_id) group: vec3u, @builtin(local_invocation_id) local: vec3u) {
  var sum = product(tile * group.y, tile * group.x, local);
  for (var i = 0u; i < 16u; i++) {
    let at = min(place(group, local, i), vec2u(dims.m - 1u, dims.n - 1u));
    put(place(group, local, i), sum[i / 4u][i % 4u] + residual[at.x * dims.n + at.y]);
  }
}

@compute @workgroup_size(8, 8)
fn with_bias_and_residual(@builtin(workgroup_id) group: vec3u, @builtin(local_invocation_id) local: vec3u) {
  var sum = product(tile * group.y, tile * group.x, local);
  for (var i = 0u; i < 16u; i++) {
    let at = min(place(group, local, i), vec2u(dims.m - 1u, dims.n - 1u));
    put(place(group, local, i), sum[i / 4u][i % 4u] + bias[at.y] + residual[at.x * dims.n + at.y]);
  }
}
