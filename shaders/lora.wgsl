// Low-rank addition to a projection: y[t, col(n)] += scale * sum_k u[t, part(n) rank + k] b[n, k], and its gradients
// but for those that are plain products. The rows n of b belong to up to three parts of the projection's columns (q, k
// and v, or gate and up, lie in one matrix); each part has its own `rank` columns of u. Every sum is one accumulator over
// an ascending index, so a row's result does not depend on the other rows.
// Source: Hu et al. 2021, arXiv:2106.09685.
struct Dims {
  rows: u32, width: u32, rank: u32, inner: u32, total: u32, first1: u32, first2: u32,
  shift0: u32, shift1: u32, shift2: u32, scale: f32
}

override WG: u32 = 64u;

@group(0) @binding(0) var<uniform> dims: Dims;
@group(0) @binding(1) var<storage, read> u: array<f32>;               // (T,inner), inner = parts * rank
@group(0) @binding(2) var<storage, read> b: array<f32>;               // (total,rank)
@group(0) @binding(3) var<storage, read_write> y: array<f32>;         // (T,width)
@group(0) @binding(4) var<storage, read> dy: array<f32>;              // (T,width)
@group(0) @binding(5) var<storage, read_write> du: array<f32>;        // (T,inner)
@group(0) @binding(6) var<storage, read_write> db: array<f32>;        // (total,rank)

/// The part that row n of b belongs to.
fn part_of(n: u32) -> u32 { return u32(n >= dims.first1) + u32(n >= dims.first2); }

/// How far a part's columns lie behind its rows of b.
fn shift_of(part: u32) -> u32 { return select(select(dims.shift2, dims.shift1, part == 1u), dims.shift0, part == 0u); }

/// First of four rows, each clamped to the last one so that reads stay inside; stores are guarded.
fn four_rows(first: u32) -> vec4u { return min(vec4u(first, first + 1u, first + 2u, first + 3u), vec4u(dims.rows - 1u)); }

// Dispatch: (ceil(total/WG), ceil(T/4)).
@compute @workgroup_size(WG)
fn expand(@builtin(workgroup_id) group: vec3u, @builtin(local_invocation_index) lane: u32) {
  let n = group.x * WG + lane;
  if (n >= dims.total) { return; }
  let part = part_of(n);
  let first = group.y * 4u;
  let at = four_rows(first) * dims.inner + part * dims.rank;
  var sum = vec4f();
  for (var k = 0u; k < dims.rank; k++) {
    sum = fma(vec4f(u[at.x + k], u[at.y + k], u[at.z + k], u[at.w + k]), vec4f(b[n * dims.rank + k]), sum);
  }
  let col = n + shift_of(part);
  let count = min(4u, dims.rows - first);
  for (var i = 0u; i < count; i++) {
    let cell = (first + i) * dims.width + col;
    y[cell] += dims.scale * sum[i];
  }
}

// du[t, part rank + k] = scale * sum over the part's n of dy[t, col(n)] b[n, k].
// Dispatch: ceil(inner * ceil(T/4) / WG), in x and y past 65535.
@compute @workgroup_size(WG)
fn reduce(@builtin(workgroup_id) group: vec3u, @builtin(num_workgroups) groups: vec3u,
          @builtin(local_invocation_index) lane: u32) {
  let index = (group.y * groups.x + group.x) * WG + lane;
  let tile = index / dims.inner;
  let first = tile * 4u;
  if (first >= dims.rows) { return; }
  let j = index - tile * dims.inner;
  let part = j / dims.rank;
  let k = j - part * dims.rank;
  let start = select(select(dims.first2, dims.first1, part == 1u), 0u, part == 0u);
  let end = select(select(dims.total, dims.first2, part == 1u), dims.first1, part == 0u);
  let at = four_rows(first) * dims.width + shift_of(part);
  var sum = vec4f();
  for (var n = start; n < end; n++) {
    sum = fma(vec4f(dy[at.x + n], dy[at.y + n], dy[at.z + n], dy[at.w + n]), vec4f(b[n * dims.rank + k]), sum);
  }
  let count = min(4u, dims.rows - first);
  for (var i = 0u; i < count; i++) { du[(first + i) * dims.inner + j] = dims.scale * sum[i]; }
}

// db[n, k] += scale * sum_t dy[t, col(n)] u[t, part rank + k], four k at a time.
// Dispatch: ceil(total * ceil(rank/4) / WG), in x and y past 65535.
@compute @workgroup_size(WG)
fn outer(@builtin(workgroup_id) group: vec3u, @builtin(num_workgroups) groups: vec3u,
         @builtin(local_invocation_index) lane: u32) {
  let index = (group.y * groups.x + group.x) * WG + lane;
  let tile = index / dims.total;
  let first = tile * 4u;
  if (first >= dims.rank) { return; }
  let n = index - tile * dims.total;
  let part = part_of(n);
  let col = n + shift_of(part);
  let ks = part * dims.rank + min(vec4u(first, first + 1u, first + 2u, first + 3u), vec4u(dims.rank - 1u));
  var sum = vec4f();
  for (var t = 0u; t < dims.rows; t++) {
    let at = ks + t * dims.inner;
    sum = fma(vec4f(dy[t * dims.width + col]), vec4f(u[at.x], u[at.y], u[at.z], u[at.w]), sum);
  }
  let count = min(4u, dims.rank - first);
  for (var i = 0u; i < count; i++) {
    let cell = n * dims.rank + first + i;
    db[cell] += dims.scale * sum[i];
  }
}
