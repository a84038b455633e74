// A head of D dimensions as vec4 parts, D a multiple of 4. head_scalars.wgsl takes its place for
// other widths, head_halves.wgsl where pages hold halves.
/// Width of a head; the host replaces this line, since private arrays cannot be sized by an override.
const D = 64u;

alias Part = vec4f;
alias Stored = vec4f;
const PARTS = D / 4u;

/// sum + a . b, dimensions ascending, one accumulator.
fn dot_part(a: Part, b: Part, sum: f32) -> f32 {
  return fma(a.w, b.w, fma(a.z, b.z, fma(a.y, b.y, fma(a.x, b.x, sum))));
}

fn part_of(stored: Stored) -> Part { return stored; }
