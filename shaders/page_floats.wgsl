// Pages of f32, read one number at a time. page_halves.wgsl is the counterpart.
alias Stored = f32;

fn word_of(at: u32) -> u32 { return at; }
fn number_of(stored: Stored, at: u32) -> f32 { return stored; }
