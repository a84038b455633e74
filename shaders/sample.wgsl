// Draws the next token of each row from its logits and advances the row's sequence, so that a burst of steps needs no
// host. w_i = exp((l_i - max l) / temperature). A row is one workgroup (lanes_shared.wgsl) or one invocation
// (lanes_alone.wgsl in its place).
//
// Truncation, in this order: top-k keeps the k largest logits; top-p, on what is left, renormalised, keeps token i when
// the mass of more likely tokens is below p; min-p drops w_i < minP * (largest w = 1). Equal logits rank by lower id.
// Nothing is sorted: logits map to u32 keys of the same order, and either cut is the largest key whose tokens at or above
// it number >= k (or weigh >= p). It is enclosed between two keys; each pass over the row measures four keys between
// them and leaves a fifth of the range, until one token or one key is left. Sums run in one fixed order and all terms
// are >= 0, so the mass is monotone in the key in f32 too and the search is exact and deterministic.
//
// The draw inverts the cumulative distribution in id order: the first kept id whose cumulative weight exceeds
// u * total, u = threefry_uniform(key, counter + drawn). Temperature 0 takes the likeliest id and reports its
// log-probability at temperature 1. A forced id is returned with its log-probability without truncation.
//
// State per sequence, one array of `stride` entries each, in the order of the constants below: id to feed next, its
// position, its KV slot, tokens drawn, tokens allowed, status. Rows whose status is not RUNNING are passed over.
// Out (steps,S,4): id, log-probability bits, 1 when truncation dropped weight, status after.
// Dispatch: one workgroup per row, or per WG rows; 2-D past 65535.
// Sources: top-p Holtzman et al. 2019 (arXiv:1904.09751), min-p Nguyen et al. 2024 (arXiv:2407.01082).
struct Dims {
  rows: u32, vocab: u32, sequences: u32, stride: u32, stop_count: u32, max_pages: u32, page_tokens: u32, step: u32,
  forced_steps: u32, half_lanes: u32
}

@group(0) @binding(0) var<uniform> dims: Dims;
@group(0) @binding(1) var<storage, read> logits: array<f32>;       // (B,V)
@group(0) @binding(2) var<storage, read> seq: array<u32>;          // (B), the sequence of each row
@group(0) @binding(3) var<storage, read> params: array<u32>;       // (S,8)
@group(0) @binding(4) var<storage, read_write> state: array<u32>;  // (6,stride)
@group(0) @binding(5) var<storage, read> stops: array<u32>;        // (S,stop_count)
@group(0) @binding(6) var<storage, read> pages: array<u32>;        // (S,max_pages)
@group(0) @binding(7) var<storage, read> forced: array<u32>;       // (forced_steps,S), or any when forced_steps = 0
@group(0) @binding(8) var<storage, read_write> out: array<u32>;    // (steps,S,4)

//!include "lanes_shared.wgsl"
//!include "threefry.wgsl"

const NONE = 0xffffffffu;
const ID = 0u;
const POSITION = 1u;
const SLOT = 2u;
const DRAWN = 3u;
const REMAINING = 4u;
const STATUS = 5u;
const RUNNING = 0u;
const STOPPED = 1u;
const LENGTH = 2u;
const INVALID = 4u;
const NO_PAGE = 5u;

/// u32 of the same order as the float, one key for both zeros.
fn key_of(v: f32) -> u32 {
  let bits = select(bitcast<u32>(v), 0u, v == 0.0);
  return select(bits | 0x80000000u, ~bits, bits >= 0x80000000u);
}

fn value_of(key: u32) -> f32 { return bitcast<f32>(select(~key, key & 0x7fffffffu, key >= 0x80000000u)); }

/// A row of logits: where it starts, its largest, and 1 / temperature.
struct Row { base: u32, top: f32, inverse: f32 }

fn weight(row: Row, v: f32) -> f32 {
  if (v >= row.top) { return 1.0; }
  return exp((v - row.top) * row.inverse);
}

/// Largest logit with its lowest id; broken when the row holds NaN or +inf, id NONE when all are -inf.
fn top_of(base: u32, lane: u32) -> Top {
  var top = Top(-3.4028234e38, NONE, 0u);
  for (var c = lane; c < dims.vocab; c += LANES) {
    let v = logits[base + c];
    let bits = bitcast<u32>(v);
    if ((bits & 0x7fffffffu) > 0x7f800000u || bits == 0x7f800000u) { top.broken = 1u; }
    if (v > top.value || (v == top.value && top.id == NONE)) {
      top.value = v;
      top.id = c;
    }
  }
  return best_top(top, lane);
}

//!include "sample_cut.wgsl"

/// Ids are dealt to lanes in blocks, so that lane order is id order.
struct Block { first: u32, end: u32 }

fn block_of(lane: u32) -> Block {
  let size = (dims.vocab + LANES - 1u) / LANES;
  return Block(min(lane * size, dims.vocab), min((lane + 1u) * size, dims.vocab));
}

/// Number of logits equal to the cut in the blocks before this lane's.
fn ties_before(row: Row, cut: Cut, lane: u32) -> u32 {
  let block = block_of(lane);
  var count = 0u;
  for (var c = block.first; c < block.end; c++) {
    count += select(0u, 1u, key_of(logits[row.base + c]) == cut.key);
  }
  return count_before(count, lane);
}

/// Weight of id c after the cut; `seen` counts the ids equal to the cut so far.
fn kept_weight(row: Row, cut: Cut, c: u32, seen: ptr<function, u32>) -> f32 {
  let v = logits[row.base + c];
  let key = key_of(v);
  if (key < cut.key) { return 0.0; }
  if (key == cut.key) {
    *seen += 1u;
    if (*seen > cut.ties) { return 0.0; }
  }
  let w = weight(row, v);
  return select(0.0, w, w >= cut.floor);
}

/// The drawn id, the total weight kept, and whether any was dropped.
struct Drawn { id: u32, total: f32, truncated: bool }

fn draw(row: Row, cut: Cut, u: f32, before: u32, lane: u32) -> Drawn {
  let block = block_of(lane);
  var seen = before;
  var mass = 0.0;
  var dropped = 0u;
  for (var c = block.first; c < block.end; c++) {
    let w = kept_weight(row, cut, c, &seen);
    mass += w;
    if (w == 0.0 && weight(row, logits[row.base + c]) > 0.0) { dropped = 1u; }
  }
  let found = locate(mass, dropped, u, lane);
  var id = 0u;
  if (lane == found.lane) {
    seen = before;
    var sum = 0.0;
    for (var c = block.first; c < block.end; c++) {
      let w = kept_weight(row, cut, c, &seen);
      if (w > 0.0) {
        id = c;
        sum += w;
        if (sum > found.rest) { break; }
      }
    }
  }
  return Drawn(value_from(id, found.lane, lane), found.total, found.dropped > 0u);
}

fn write_out(s: u32, id: u32, logprob: f32, truncated: bool, status: u32) {
  let at = (dims.step * dims.sequences + s) * 4u;
  out[at] = id;
  out[at + 1u] = bitcast<u32>(logprob);
  out[at + 2u] = select(0u, 1u, truncated);
  out[at + 3u] = status;
}

/// Moves the sequence on by the drawn id and returns its status.
fn advance(s: u32, id: u32) -> u32 {
  let remaining = state[REMAINING * dims.stride + s] - 1u;
  let position = state[POSITION * dims.stride + s] + 1u;
  var status = select(RUNNING, LENGTH, remaining == 0u);
  for (var i = 0u; i < dims.stop_count; i++) {
    if (stops[s * dims.stop_count + i] == id) { status = STOPPED; }
  }
  var slot = NONE;
  let page = position / dims.page_tokens;
  if (status == RUNNING) {
    if (page < dims.max_pages) { slot = pages[s * dims.max_pages + page]; }
    if (slot == NONE) { status = NO_PAGE; } else { slot = slot * dims.page_tokens + position % dims.page_tokens; }
  }
  state[ID * dims.stride + s] = id;
  state[POSITION * dims.stride + s] = position;
  state[SLOT * dims.stride + s] = slot;
  state[DRAWN * dims.stride + s] += 1u;
  state[REMAINING * dims.stride + s] = remaining;
  state[STATUS * dims.stride + s] = status;
  return status;
}

@compute @workgroup_size(WG)
fn sample(@builtin(workgroup_id) group: vec3u, @builtin(num_workgroups) groups: vec3u,
          @builtin(local_invocation_index) local: u32) {
  let b = row_of(group, groups, local);
  let lane = lane_of(local);
  if (b >= dims.rows) { return; }
  let s = seq[b];
  let status = same_for_row(state[STATUS * dims.stride + s], lane);
  if (status != RUNNING) {
    if (lane == 0u) { write_out(s, NONE, 0.0, false, status); }
    return;
  }
  let temperature = bitcast<f32>(params[s * 8u]);
  let k = params[s * 8u + 1u];
  let p = bitcast<f32>(params[s * 8u + 2u]);
  var given = params[s * 8u + 7u];
  if (dims.step < dims.forced_steps) { given = forced[dims.step * dims.sequences + s]; }

  let top = top_of(b * dims.vocab, lane);
  let greedy = temperature == 0.0;
  let row = Row(b * dims.vocab, top.value, select(1.0 / temperature, 1.0, greedy));
  var cut = Cut(0u, NONE, 0.0);
  var before = 0u;
  if (given == NONE && !greedy) {
    let bounded = select(0u, k, k < dims.vocab);
    if (bounded > 0u || p < 1.0) {
      cut = find_cut(row, bounded, p, lane);
      before = ties_before(row, cut, lane);
    }
    cut.floor = min(bitcast<f32>(params[s * 8u + 3u]), 1.0);
  }
  let counter = params[s * 8u + 6u] + state[DRAWN * dims.stride + s];
  let u = threefry_uniform(vec2u(params[s * 8u + 4u], params[s * 8u + 5u]), counter);
  let drawn = draw(row, cut, u, before, lane);
  if (lane != 0u) { return; }
  var id = select(drawn.id, top.id, greedy);
  id = select(given, id, given == NONE);
  if (top.broken != 0u || top.id >= dims.vocab || id >= dims.vocab) {
    state[STATUS * dims.stride + s] = INVALID;
    state[SLOT * dims.stride + s] = NONE;
    write_out(s, NONE, 0.0, false, INVALID);
    return;
  }
  let logprob = (logits[row.base + id] - row.top) * row.inverse - log(drawn.total);
  write_out(s, id, logprob, drawn.truncated, advance(s, id));
}
