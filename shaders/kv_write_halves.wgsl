// Puts the keys and values of T rows into their slots of a paged cache of f16, two to a u32: kv_write.wgsl with pairs of
// neighbours as cells. Values past the largest half are cut to it, where packing would leave them undefined.
// Dispatch: span.wgsl over T*KV*D/2.
struct Dims { count: u32, width: u32, row_stride: u32, first_key: u32 }

const NONE = 0xffffffffu;
const LARGEST = vec2f(65504.0);

@group(0) @binding(0) var<uniform> dims: Dims;
@group(0) @binding(1) var<storage, read> qkv: array<f32>;            // (T,row_stride)
@group(0) @binding(2) var<storage, read> slots: array<u32>;          // (T)
@group(0) @binding(3) var<storage, read_write> k_pages: array<u32>;  // (pages,page size,KV*D/2)
@group(0) @binding(4) var<storage, read_write> v_pages: array<u32>;  // (pages,page size,KV*D/2)

//!include "span.wgsl"

fn packed(at: u32) -> u32 { return pack2x16float(clamp(vec2f(qkv[at], qkv[at + 1u]), -LARGEST, LARGEST)); }

@compute @workgroup_size(WG)
fn kv_write(@builtin(workgroup_id) group: vec3u, @builtin(num_workgroups) groups: vec3u,
            @builtin(local_invocation_index) lane: u32) {
  let span = span_of(group, groups, lane, dims.count);
  var cell = cell_of(span.first, dims.width);
  for (var i = span.first; i < span.end; i += WG) {
    let slot = slots[cell.row];
    if (slot != NONE) {
      let key = cell.row * dims.row_stride + dims.first_key + 2u * cell.col;
      k_pages[slot * dims.width + cell.col] = packed(key);
      v_pages[slot * dims.width + cell.col] = packed(key + 2u * dims.width);
    }
    cell = next_cell(cell, dims.width);
  }
}
