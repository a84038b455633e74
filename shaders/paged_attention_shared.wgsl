// Attention of query rows over keys and values in pages of PAGE tokens: o = softmax(scale * q k^T) v over the keys at
// positions 0..pos[t] of the row's own sequence, found through its block table. Query head h reads key head h / (H/KV).
// Prefill chunks, decoding steps and mixes of both are rows alike. A row's result depends only on its own keys: they
// come in ascending position, with one accumulator per output and an online softmax, whatever else is in the batch and
// wherever the pages lie, so cached, chunked and batched results are equal to the bit.
//
// One workgroup per (tile, head), softmax per absolute block of BLOCK keys. A tile is one row (tile_of_one.wgsl) or up
// to four rows that share one reading of the keys and values (tile_of_four.wgsl in its place). Keys go through
// workgroup memory in slices of SLICE dimensions; lane = key for the scores, lane = dimension for the values.
// Dispatch: tiles * H workgroups, 2-D past 65535.
// Source: paging Kwon et al. 2023 (arXiv:2309.06180); online softmax Milakov & Gimelshein 2018 (arXiv:1805.02867).
struct Dims { tiles: u32, heads: u32, kv_heads: u32, row_stride: u32, max_pages: u32, scale: f32, half_block: u32 }

const PAGE = 16u;
const BLOCK = 64u;
const SLICE = 32u;
const NEVER = -3.4028234e38;
/// Width of a head; the host replaces this line, since private arrays cannot be sized by an override.
const D = 64u;
/// Dimensions of a lane.
const OWNED = (D + BLOCK - 1u) / BLOCK;

@group(0) @binding(0) var<uniform> dims: Dims;
@group(0) @binding(1) var<storage, read> qkv: array<f32>;          // (T,row_stride), a row begins with its H query heads
@group(0) @binding(2) var<storage, read> k_pages: array<Stored>;   // (pages,PAGE,KV*D)
@group(0) @binding(3) var<storage, read> v_pages: array<Stored>;   // (pages,PAGE,KV*D)
@group(0) @binding(4) var<storage, read> pages: array<u32>;        // (S,max_pages)
@group(0) @binding(5) var<storage, read> seq: array<u32>;          // (T)
@group(0) @binding(6) var<storage, read> pos: array<u32>;          // (T)
@group(0) @binding(7) var<storage, read_write> o: array<f32>;      // (T,H*D)

//!include "tile_of_one.wgsl"
//!include "page_floats.wgsl"

/// Index in k_pages and v_pages of the key at position j.
fn key_at(table: u32, kv_head: u32, j: u32) -> u32 {
  return ((pages[table + j / PAGE] * PAGE + j % PAGE) * dims.kv_heads + kv_head) * D;
}

var<workgroup> query: array<Rows, D>;
var<workgroup> slice: array<f32, BLOCK * (SLICE + 1u)>;
var<workgroup> address: array<u32, BLOCK>;
var<workgroup> weights: array<Rows, BLOCK>;
var<workgroup> reduced: array<Rows, BLOCK>;

fn block_max(value: Rows, lane: u32) -> Rows {
  reduced[lane] = value;
  workgroupBarrier();
  for (var half = dims.half_block; half > 0u; half /= 2u) {
    if (lane < half) { reduced[lane] = max(reduced[lane], reduced[lane + half]); }
    workgroupBarrier();
  }
  return reduced[0];
}

fn block_sum(value: Rows, lane: u32) -> Rows {
  workgroupBarrier();
  reduced[lane] = value;
  workgroupBarrier();
  for (var half = dims.half_block; half > 0u; half /= 2u) {
    if (lane < half) { reduced[lane] += reduced[lane + half]; }
    workgroupBarrier();
  }
  return reduced[0];
}

/// q . k of the lane's key: dimensions ascend across slices, with one accumulator.
fn score(lane: u32, keys: u32) -> Rows {
  var dot = Rows(0.0);
  for (var base = 0u; base < D; base += SLICE) {
    let width = min(SLICE, D - base);
    for (var i = lane; i < keys * SLICE; i += BLOCK) {
      let d = i % SLICE;
      if (d < width) {
        let at = address[i / SLICE] + base + d;
        slice[(i / SLICE) * (SLICE + 1u) + d] = number_of(k_pages[word_of(at)], at);
      }
    }
    workgroupBarrier();
    if (lane < keys) {
      for (var d = 0u; d < width; d++) {
        dot = fma(query[base + d], Rows(slice[lane * (SLICE + 1u) + d]), dot);
      }
    }
    workgroupBarrier();
  }
  return dot * dims.scale;
}

@compute @workgroup_size(BLOCK)
fn attend(@builtin(workgroup_id) group: vec3u, @builtin(num_workgroups) groups: vec3u,
          @builtin(local_invocation_index) lane: u32) {
  let item = group.y * groups.x + group.x;
  if (item >= dims.tiles * dims.heads) { return; }
  let tile = tile_of(item / dims.heads);
  let h = item % dims.heads;
  let kv_head = h / (dims.heads / dims.kv_heads);
  let table = seq[tile.first] * dims.max_pages;
  let seen = seen_by(tile);
  let count = pos[tile.last] + 1u;
  for (var d = lane; d < D; d += BLOCK) { query[d] = load_query(tile, h * D + d); }
  var sum: array<Rows, OWNED>;
  for (var i = 0u; i < OWNED; i++) { sum[i] = Rows(0.0); }
  var top = Rows(NEVER);
  var total = Rows(0.0);
  for (var start = 0u; start < count; start += BLOCK) {
    let keys = min(BLOCK, count - start);
    if (lane < keys) { address[lane] = key_at(table, kv_head, start + lane); }
    workgroupBarrier();
    let mine = Places(start + lane) < seen;
    let s = select(Rows(NEVER), score(lane, keys), mine);
    let largest = max(top, block_max(s, lane));
    let shrink = exp(top - largest);
    let p = select(Rows(0.0), exp(s - largest), mine);
    weights[lane] = p;
    total = fma(total, shrink, block_sum(p, lane));
    top = largest;
    for (var i = 0u; i < OWNED; i++) {
      let d = lane + i * BLOCK;
      if (d < D) {
        var value = sum[i] * shrink;
        for (var j = 0u; j < keys; j++) {
          let at = address[j] + d;
          let v = number_of(v_pages[word_of(at)], at);
          // A key that a row does not see counts 0 even if it holds NaN.
          let counted = select(Rows(0.0), Rows(v), Places(start + j) < seen);
          value = fma(weights[j], counted, value);
        }
        sum[i] = value;
      }
    }
    workgroupBarrier();
  }
  for (var i = 0u; i < OWNED; i++) {
    let d = lane + i * BLOCK;
    if (d < D) {
      for (var r = tile.first; r <= tile.last; r++) {
        o[(r * dims.heads + h) * D + d] = value_of_row(sum[i] / total, r - tile.first);
      }
    }
  }
}
