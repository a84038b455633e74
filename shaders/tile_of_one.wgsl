// A tile of one query row: what paged_attention_shared.wgsl does per row. tile_of_four.wgsl is the counterpart.
/// One value, and one position, of each row of a tile.
alias Rows = f32;
alias Places = u32;

struct Tile { first: u32, last: u32 }

fn tile_of(item: u32) -> Tile { return Tile(item, item); }

/// Keys that each row sees.
fn seen_by(tile: Tile) -> Places { return pos[tile.first] + 1u; }

fn load_query(tile: Tile, at: u32) -> Rows { return qkv[tile.first * dims.row_stride + at]; }

fn value_of_row(values: Rows, r: u32) -> f32 { return values; }
