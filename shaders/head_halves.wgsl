// A head of D dimensions as vec4 parts whose keys and values are stored as f16, two to a u32: the counterpart of
// head_vectors.wgsl. D is a multiple of 4.
/// Width of a head; the host replaces this line, since private arrays cannot be sized by an override.
const D = 64u;

alias Part = vec4f;
alias Stored = vec2u;
const PARTS = D / 4u;

/// sum + a . b, dimensions ascending, one accumulator.
fn dot_part(a: Part, b: Part, sum: f32) -> f32 {
  return fma(a.w, b.w, fma(a.z, b.z, fma(a.y, b.y, fma(a.x, b.x, sum))));
}

fn part_of(stored: Stored) -> Part { return vec4f(unpack2x16float(stored.x), unpack2x16float(stored.y)); }
