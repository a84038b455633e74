// One workgroup per row, whose WG lanes share the work: what sample.wgsl needs to combine their results, each in a fixed
// order. Call all of it from uniform control flow. lanes_alone.wgsl is the counterpart with one invocation per row.
override WG: u32 = 256u;
override LANES: u32 = 256u; // = WG

var<workgroup> lane_f: array<f32, WG>;
var<workgroup> lane_u: array<u32, WG>;
var<workgroup> row_u: u32;
var<workgroup> row_located: Located;

fn row_of(group: vec3u, groups: vec3u, local: u32) -> u32 { return group.y * groups.x + group.x; }
fn lane_of(local: u32) -> u32 { return local; }

/// A value that is the same in all lanes, in a form the compiler knows to be uniform.
fn same_for_row(value: u32, lane: u32) -> u32 {
  if (lane == 0u) { row_u = value; }
  return workgroupUniformLoad(&row_u);
}

/// The owner lane's value.
fn value_from(value: u32, owner: u32, lane: u32) -> u32 {
  if (lane == owner) { row_u = value; }
  return workgroupUniformLoad(&row_u);
}

/// Sum of the counts of the lanes before this one.
fn count_before(count: u32, lane: u32) -> u32 {
  lane_u[lane] = count;
  workgroupBarrier();
  var before = 0u;
  for (var l = 0u; l < lane; l++) { before += lane_u[l]; }
  workgroupBarrier();
  return before;
}

/// Four counts, whole numbers below 2^24, and four masses.
struct Measure { count: vec4f, mass: vec4f }

var<workgroup> lane_counts: array<vec4f, WG>;
var<workgroup> lane_masses: array<vec4f, WG>;

fn sum_measure(value: Measure, lane: u32) -> Measure {
  lane_counts[lane] = value.count;
  lane_masses[lane] = value.mass;
  workgroupBarrier();
  for (var half = dims.half_lanes; half > 0u; half /= 2u) {
    if (lane < half) {
      lane_counts[lane] += lane_counts[lane + half];
      lane_masses[lane] += lane_masses[lane + half];
    }
    workgroupBarrier();
  }
  let total = Measure(lane_counts[0], lane_masses[0]);
  workgroupBarrier();
  return total;
}

struct Top { value: f32, id: u32, broken: u32 }

/// The largest value with its lowest id, and whether any lane is broken.
fn best_top(value: Top, lane: u32) -> Top {
  lane_f[lane] = value.value;
  lane_u[lane] = value.id;
  let broken = count_before(value.broken, lane) + value.broken;
  lane_u[lane] = value.id;
  workgroupBarrier();
  for (var half = dims.half_lanes; half > 0u; half /= 2u) {
    if (lane < half) {
      let v = lane_f[lane + half];
      let id = lane_u[lane + half];
      if (v > lane_f[lane] || (v == lane_f[lane] && id < lane_u[lane])) {
        lane_f[lane] = v;
        lane_u[lane] = id;
      }
    }
    workgroupBarrier();
  }
  let found = Top(lane_f[0], lane_u[0], 0u);
  workgroupBarrier();
  return Top(found.value, found.id, value_from(broken, WG - 1u, lane));
}

/// The lane that holds u * total of the lanes' masses, in lane order, and how much of that lies in it; `dropped` is any
/// lane's. Rounding may leave no lane whose cumulative mass exceeds the goal: then the last with mass.
struct Located { total: f32, lane: u32, rest: f32, dropped: u32 }

fn locate(mass: f32, dropped: u32, u: f32, lane: u32) -> Located {
  lane_f[lane] = mass;
  lane_u[lane] = dropped;
  workgroupBarrier();
  if (lane == 0u) {
    var at = Located(0.0, 0u, 0.0, 0u);
    for (var l = 0u; l < WG; l++) {
      at.total += lane_f[l];
      at.dropped |= lane_u[l];
    }
    let goal = u * at.total;
    var sum = 0.0;
    var found = false;
    for (var l = 0u; l < WG; l++) {
      let mine = lane_f[l];
      if (!found && mine > 0.0) {
        at.lane = l;
        at.rest = goal - sum;
        found = sum + mine > goal;
      }
      sum += mine;
    }
    row_located = at;
  }
  workgroupBarrier();
  let located = row_located;
  workgroupBarrier();
  return located;
}
