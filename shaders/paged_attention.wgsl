// Attention of query rows over keys and values in pages of PAGE tokens: o = softmax(scale * q k^T) v over the keys at
// positions 0..pos[t] of the row's own sequence, found through its block table. Query head h reads key head h / (H/KV).
// Prefill chunks, decoding steps and mixes of both are rows alike. A row's result depends only on its own keys: they
// come in ascending position, with one accumulator per output and an online softmax, whatever else is in the batch and
// wherever the pages lie, so cached, chunked and batched results are equal to the bit.
//
// One invocation per (row, head), softmax per key: for adapters that emulate workgroups (paged_attention_shared.wgsl is
// for the others). Dispatch: ceil(T*H/WG) workgroups, 2-D past 65535.
// Source: paging Kwon et al. 2023 (arXiv:2309.06180); online softmax Milakov & Gimelshein 2018 (arXiv:1805.02867).
struct Dims { rows: u32, heads: u32, kv_heads: u32, row_stride: u32, max_pages: u32, scale: f32, parts: u32 }

const PAGE = 16u;
//!include "head_vectors.wgsl"

override WG: u32 = 8u;

@group(0) @binding(0) var<uniform> dims: Dims;
@group(0) @binding(1) var<storage, read> qkv: array<Part>;          // (T,row_stride), a row begins with its H query heads
@group(0) @binding(2) var<storage, read> k_pages: array<Stored>;    // (pages,PAGE,KV*D)
@group(0) @binding(3) var<storage, read> v_pages: array<Stored>;    // (pages,PAGE,KV*D)
@group(0) @binding(4) var<storage, read> pages: array<u32>;         // (S,max_pages)
@group(0) @binding(5) var<storage, read> seq: array<u32>;           // (T)
@group(0) @binding(6) var<storage, read> pos: array<u32>;           // (T)
@group(0) @binding(7) var<storage, read_write> o: array<Part>;      // (T,H*D)

// Loops over a head run to dims.parts, not to the constant: unrolled by the driver they take seconds to compile and
// are no faster.
@compute @workgroup_size(WG)
fn attend(@builtin(workgroup_id) group: vec3u, @builtin(num_workgroups) groups: vec3u,
          @builtin(local_invocation_index) lane: u32) {
  let item = (group.y * groups.x + group.x) * WG + lane;
  if (item >= dims.rows * dims.heads) { return; }
  let t = item / dims.heads;
  let h = item - t * dims.heads;
  let kv_head = h / (dims.heads / dims.kv_heads);
  let table = seq[t] * dims.max_pages;
  let count = pos[t] + 1u;
  var q: array<Part, PARTS>;
  var sum: array<Part, PARTS>;
  for (var i = 0u; i < dims.parts; i++) {
    q[i] = qkv[t * dims.row_stride + h * PARTS + i];
    sum[i] = Part();
  }
  var top = -3.4028234e38;
  var total = 0.0;
  for (var start = 0u; start < count; start += PAGE) {
    var at = (pages[table + start / PAGE] * PAGE * dims.kv_heads + kv_head) * PARTS;
    let end = min(PAGE, count - start);
    for (var j = 0u; j < end; j++) {
      var dot = 0.0;
      for (var i = 0u; i < dims.parts; i++) { dot = dot_part(q[i], part_of(k_pages[at + i]), dot); }
      let s = dot * dims.scale;
      if (s > top) {
        let shrink = exp(top - s);
        top = s;
        total *= shrink;
        for (var i = 0u; i < dims.parts; i++) { sum[i] *= shrink; }
      }
      let p = exp(s - top);
      total += p;
      for (var i = 0u; i < dims.parts; i++) { sum[i] = fma(Part(p), part_of(v_pages[at + i]), sum[i]); }
      at += dims.kv_heads * PARTS;
    }
  }
  for (var i = 0u; i < dims.parts; i++) { o[item * PARTS + i] = sum[i] / total; }
}
