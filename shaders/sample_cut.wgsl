// The cuts of top-k and top-p: the part of sample.wgsl that finds which logits stay, by the rules stated there.

/// Key of -inf, the least there is.
const LEAST_KEY = 0x007fffffu;

/// Number and weight of the logits whose key is at least each of four keys. Four logits at a time: what a loop costs a
/// software adapter weighs as much as what is done in it.
fn measure(row: Row, keys: vec4u, lane: u32) -> Measure {
  let least = max(keys, vec4u(LEAST_KEY));
  let bounds = vec4f(value_of(least.x), value_of(least.y), value_of(least.z), value_of(least.w));
  var sum = Measure(vec4f(), vec4f());
  for (var c = lane; c < dims.vocab; c += 4u * LANES) {
    let ids = vec4u(c, c + LANES, c + 2u * LANES, c + 3u * LANES);
    let at = row.base + min(ids, vec4u(dims.vocab - 1u));
    let v = vec4f(logits[at.x], logits[at.y], logits[at.z], logits[at.w]);
    let w = vec4f(weight(row, v.x), weight(row, v.y), weight(row, v.z), weight(row, v.w));
    let there = ids < vec4u(dims.vocab);
    let reached = array<vec4<bool>, 4>(
      there & (v >= vec4f(bounds.x)), there & (v >= vec4f(bounds.y)),
      there & (v >= vec4f(bounds.z)), there & (v >= vec4f(bounds.w)));
    sum.count += vec4f(how_many(reached[0]), how_many(reached[1]), how_many(reached[2]), how_many(reached[3]));
    sum.mass += vec4f(mass_of(reached[0], w), mass_of(reached[1], w), mass_of(reached[2], w), mass_of(reached[3], w));
  }
  return sum_measure(sum, lane);
}

fn how_many(which: vec4<bool>) -> f32 { return dot(select(vec4f(), vec4f(1.0), which), vec4f(1.0)); }
fn mass_of(which: vec4<bool>, weights: vec4f) -> f32 { return dot(select(vec4f(), weights, which), vec4f(1.0)); }

/// What truncation keeps: every key above `key`, of those equal to it the first `ties` by id, all of weight >= floor.
struct Cut { key: u32, ties: u32, floor: f32 }

/// The tokens at or above `low` are enough, those at or above `high` are not; mass -1 where it was not measured.
struct Range { low: u32, high: u32, count_low: u32, count_high: u32, mass_low: f32, mass_high: f32 }

/// Logits further below the largest, in units of the temperature, than this weigh nothing.
const REACH = 40.0;

/// Four ascending keys inside a range. Even steps in value come near fast; even steps in key, taken now and then, end
/// even where values differ wildly.
fn keys_inside(range: Range, row: Row, turn: u32) -> vec4u {
  let inner = vec2u(range.low + 1u, range.high - 1u);
  let steps = vec4u(1u, 2u, 3u, 4u);
  let span = range.high - range.low;
  var keys = range.low + select(steps * (span / 5u), steps, span < 5u);
  let least = value_of(max(inner.x, key_of(row.top - REACH / row.inverse)));
  let most = value_of(inner.y);
  if (turn % 4u != 3u && least < most) {
    for (var i = 0u; i < 4u; i++) { keys[i] = key_of(least + (most - least) * (f32(i + 1u) * 0.2)); }
  }
  return clamp(keys, vec4u(inner.x), vec4u(inner.y));
}

/// The range between the measured keys that are enough and those that are not.
fn narrowed(range: Range, keys: vec4u, m: Measure, k: u32, wanted: f32, by_count: bool) -> Range {
  var out = range;
  var open = true;
  for (var i = 0u; i < 4u; i++) {
    let enough = select(m.mass[i] >= wanted, u32(m.count[i]) >= k, by_count);
    if (enough) {
      out.low = keys[i];
      out.count_low = u32(m.count[i]);
      out.mass_low = m.mass[i];
    } else if (open) {
      open = false;
      out.high = keys[i];
      out.count_high = u32(m.count[i]);
      out.mass_high = m.mass[i];
    }
  }
  return out;
}

const BY_COUNT = 0u;
const ALL_MASS = 1u;
const BY_MASS = 2u;
const FOUND = 3u;

/// The top-k cut (k = 0: none) and within it the top-p cut (p >= 1: none). One loop, so that shaders inline one measure.
fn find_cut(row: Row, k: u32, p: f32, lane: u32) -> Cut {
  let above_all = key_of(row.top) + 1u;
  var range = Range(0u, above_all, dims.vocab, 0u, -1.0, 0.0);
  var cut = Cut(0u, NONE, 0.0);
  var wanted = 0.0;
  var stage = select(ALL_MASS, BY_COUNT, k > 0u);
  for (var turn = 0u; stage != FOUND; turn++) {
    let keys = select(keys_inside(range, row, turn), vec4u(), stage == ALL_MASS);
    let m = measure(row, keys, lane);
    var next = stage;
    if (stage == ALL_MASS) {
      wanted = max(p * m.mass.x, 1e-30);
      range.mass_low = m.mass.x;
      next = BY_MASS;
    } else {
      range = narrowed(range, keys, m, k, wanted, stage == BY_COUNT);
    }
    let single = range.count_low - range.count_high == 1u && range.mass_low >= 0.0;
    if (single || range.high - range.low == 1u) {
      let least = weight(row, value_of(range.low));
      if (next == BY_COUNT) {
        cut = Cut(range.low, k - range.count_high, 0.0);
        let all = select(range.mass_high + f32(cut.ties) * least, range.mass_low, single);
        wanted = max(p * all, 1e-30);
        range = Range(range.low, above_all, range.count_low, 0u, all, 0.0);
        next = select(FOUND, BY_MASS, p < 1.0 && range.high - range.low > 1u);
        if (next == FOUND && p < 1.0) { cut.ties = ties_for(wanted, least, cut.ties); }
      } else if (next == BY_MASS) {
        let most = select(NONE, cut.ties, range.low == cut.key);
        let ties = select(ties_for(wanted - range.mass_high, least, most), 1u, single);
        cut = Cut(range.low, ties, 0.0);
        next = FOUND;
      }
    }
    stage = same_for_row(next, lane);
  }
  return cut;
}

/// How many tokens of one weight reach the mass, at least 1 and at most `most`.
fn ties_for(mass: f32, each: f32, most: u32) -> u32 {
  return min(u32(clamp(ceil(mass / each), 1.0, 4294967000.0)), most);
}
