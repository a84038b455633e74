// Embedding: y[t] = scale * w[ids[t]] (+ wpe[pos[t]]), and its gradient dw[uniq[u]] += scale * sum over the occurrences
// t of uniq[u] of dy[t]. The gradient is owner-computes: a row of dw has one writer, which walks the occurrences
// order[off[u]..off[u+1]) in ascending t, so no atomics and one order of summation.
// w may be one window [first, first+rows) of a table that exceeds a storage binding; each id is in one window.
// Dispatch: span.wgsl over T*C (forward) and U*C (backward).
struct Dims { count: u32, width: u32, scale: f32, first: u32, rows: u32 }

@group(0) @binding(0) var<uniform> dims: Dims;
@group(0) @binding(1) var<storage, read> ids: array<u32>;         // (T)
@group(0) @binding(2) var<storage, read> w: array<f32>;           // (rows,C), or packed as f16 or i8
@group(0) @binding(3) var<storage, read> pos: array<u32>;         // (T), or ids when there are no learned positions
@group(0) @binding(4) var<storage, read> wpe: array<f32>;         // (P,C)
@group(0) @binding(5) var<storage, read_write> y: array<f32>;     // (T,C)
@group(0) @binding(6) var<storage, read> uniq: array<u32>;        // (U)
@group(0) @binding(7) var<storage, read> off: array<u32>;         // (U+1)
@group(0) @binding(8) var<storage, read> order: array<u32>;       // (T)
@group(0) @binding(9) var<storage, read> dy: array<f32>;          // (T,C)
@group(0) @binding(10) var<storage, read_write> dw: array<f32>;   // (rows,C)

//!include "span.wgsl"

/// Element i of the table; src/ops/embedding.ts has other texts for packed tables.
fn w_1(i: u32) -> f32 { return w[i]; }

@compute @workgroup_size(WG)
fn forward(@builtin(workgroup_id) group: vec3u, @builtin(num_workgroups) groups: vec3u,
           @builtin(local_invocation_index) lane: u32) {
  let span = span_of(group, groups, lane, dims.count);
  var cell = cell_of(span.first, dims.width);
  for (var i = span.first; i < span.end; i += WG) {
    let id = ids[cell.row] - dims.first;
    if (id < dims.rows) { y[i] = dims.scale * w_1(id * dims.width + cell.col); }
    cell = next_cell(cell, dims.width);
  }
}

/// Forward with learned positions; an entry of its own, for a shader may not bind what is not there.
@compute @workgroup_size(WG)
fn forward_at(@builtin(workgroup_id) group: vec3u, @builtin(num_workgroups) groups: vec3u,
              @builtin(local_invocation_index) lane: u32) {
  let span = span_of(group, groups, lane, dims.count);
  var cell = cell_of(span.first, dims.width);
  for (var i = span.first; i < span.end; i += WG) {
    let id = ids[cell.row] - dims.first;
    let at = pos[cell.row] * dims.width + cell.col;
    if (id < dims.rows) { y[i] = fma(dims.scale, w_1(id * dims.width + cell.col), wpe[at]); }
    cell = next_cell(cell, dims.width);
  }
}

@compute @workgroup_size(WG)
fn backward(@builtin(workgroup_id) group: vec3u, @builtin(num_workgroups) groups: vec3u,
            @builtin(local_invocation_index) lane: u32) {
  let span = span_of(group, groups, lane, dims.count);
  var cell = cell_of(span.first, dims.width);
  for (var i = span.first; i < span.end; i += WG) {
    let id = uniq[cell.row] - dims.first;
    if (id < dims.rows) {
      let at = id * dims.width + cell.col;
      var sum = dw[at];
      let end = off[cell.row + 1u];
      for (var k = off[cell.row]; k < end; k++) { sum = fma(dims.scale, dy[order[k] * dims.width + cell.col], sum); }
      dw[at] = sum;
    }
    cell = next_cell(cell, dims.width);
  }
}
