// A head of D dimensions one by one: the counterpart of head_vectors.wgsl for widths that are no multiple of 4.
/// Width of a head; the host replaces this line, since private arrays cannot be sized by an override.
const D = 64u;

alias Part = f32;
alias Stored = f32;
const PARTS = D;

/// sum + a b.
fn dot_part(a: Part, b: Part, sum: f32) -> f32 { return fma(a, b, sum); }

fn part_of(stored: Stored) -> Part { return stored; }
