// Pages of f16, two to a u32, read one number at a time. In place of page_floats.wgsl.
alias Stored = u32;

fn word_of(at: u32) -> u32 { return at / 2u; }
fn number_of(stored: Stored, at: u32) -> f32 { return unpack2x16float(stored)[at & 1u]; }
