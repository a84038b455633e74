// Sum and maximum over a row that LANES invocations of a workgroup share. LANES = 1 gives each row one invocation and
// compiles to no barrier (best on adapters that emulate workgroups); LANES = WG gives each row a workgroup. LANES divides
// WG and is a power of two. Call them from uniform control flow: rows past the end take part too.
override WG: u32 = 64u;
override LANES: u32 = 64u;

var<workgroup> row_partial: array<f32, WG>;

/// Row of an invocation.
fn row_of(group: vec3u, groups: vec3u, lane: u32) -> u32 {
  return (group.y * groups.x + group.x) * (WG / LANES) + lane / LANES;
}

/// The sum of value over the LANES invocations of this one's row, in a fixed tree.
fn row_sum(value: f32, lane: u32) -> f32 {
  if (LANES == 1u) { return value; }
  let sub = lane % LANES;
  row_partial[lane] = value;
  workgroupBarrier();
  for (var half = LANES / 2u; half > 0u; half /= 2u) {
    if (sub < half) { row_partial[lane] += row_partial[lane + half]; }
    workgroupBarrier();
  }
  let total = row_partial[lane - sub];
  workgroupBarrier();
  return total;
}

/// The largest value over the LANES invocations of this one's row.
fn row_max(value: f32, lane: u32) -> f32 {
  if (LANES == 1u) { return value; }
  let sub = lane % LANES;
  row_partial[lane] = value;
  workgroupBarrier();
  for (var half = LANES / 2u; half > 0u; half /= 2u) {
    if (sub < half) { row_partial[lane] = max(row_partial[lane], row_partial[lane + half]); }
    workgroupBarrier();
  }
  let largest = row_partial[lane - sub];
  workgroupBarrier();
  return largest;
}
