// Puts the keys and values of T rows into their slots of the paged cache: k_pages[slot[t]] = k of row t, likewise v.
// A row is [q heads | k heads | v heads]; a slot is page * page size + offset, NONE leaves the row out. Slots are
// distinct. Dispatch: span.wgsl over T*KV*D.
struct Dims { count: u32, width: u32, row_stride: u32, first_key: u32 }

const NONE = 0xffffffffu;

@group(0) @binding(0) var<uniform> dims: Dims;
@group(0) @binding(1) var<storage, read> qkv: array<f32>;            // (T,row_stride)
@group(0) @binding(2) var<storage, read> slots: array<u32>;          // (T)
@group(0) @binding(3) var<storage, read_write> k_pages: array<f32>;  // (pages,page size,KV*D)
@group(0) @binding(4) var<storage, read_write> v_pages: array<f32>;  // (pages,page size,KV*D)

//!include "span.wgsl"

@compute @workgroup_size(WG)
fn kv_write(@builtin(workgroup_id) group: vec3u, @builtin(num_workgroups) groups: vec3u,
            @builtin(local_invocation_index) lane: u32) {
  let span = span_of(group, groups, lane, dims.count);
  var cell = cell_of(span.first, dims.width);
  for (var i = span.first; i < span.end; i += WG) {
    let slot = slots[cell.row];
    if (slot != NONE) {
      let key = cell.row * dims.row_stride + dims.first_key + cell.col;
      k_pages[slot * dims.width + cell.col] = qkv[key];
      v_pages[slot * dims.width + cell.col] = qkv[key + dims.width];
    }
    cell = next_cell(cell, dims.width);
  }
}
