// One invocation per row: the counterpart of lanes_shared.wgsl without barriers, for adapters that emulate workgroups.
override WG: u32 = 8u;
override LANES: u32 = 1u;

fn row_of(group: vec3u, groups: vec3u, local: u32) -> u32 { return (group.y * groups.x + group.x) * WG + local; }
fn lane_of(local: u32) -> u32 { return 0u; }
fn same_for_row(value: u32, lane: u32) -> u32 { return value; }
fn value_from(value: u32, owner: u32, lane: u32) -> u32 { return value; }
fn count_before(count: u32, lane: u32) -> u32 { return 0u; }

struct Measure { count: vec4f, mass: vec4f }
fn sum_measure(value: Measure, lane: u32) -> Measure { return value; }

struct Top { value: f32, id: u32, broken: u32 }
fn best_top(value: Top, lane: u32) -> Top { return value; }

struct Located { total: f32, lane: u32, rest: f32, dropped: u32 }
fn locate(mass: f32, dropped: u32, u: f32, lane: u32) -> Located { return Located(mass, 0u, u * mass, dropped); }
