// A tile of up to four query rows at consecutive positions of one sequence; past its end its last row comes again. In
// place of tile_of_one.wgsl.
/// One value, and one position, of each row of a tile.
alias Rows = vec4f;
alias Places = vec4u;

@group(0) @binding(8) var<storage, read> tiles: array<u32>;        // (tiles,2) first row, number of rows

struct Tile { first: u32, last: u32 }

fn tile_of(item: u32) -> Tile {
  let first = tiles[2u * item];
  return Tile(first, first + tiles[2u * item + 1u] - 1u);
}

fn row_of_tile(tile: Tile, r: u32) -> u32 { return min(tile.first + r, tile.last); }

/// Keys that each row sees.
fn seen_by(tile: Tile) -> Places {
  return vec4u(pos[row_of_tile(tile, 0u)], pos[row_of_tile(tile, 1u)], pos[row_of_tile(tile, 2u)],
               pos[row_of_tile(tile, 3u)]) + 1u;
}

fn query_of(tile: Tile, r: u32, at: u32) -> f32 { return qkv[row_of_tile(tile, r) * dims.row_stride + at]; }

fn load_query(tile: Tile, at: u32) -> Rows {
  return vec4f(query_of(tile, 0u, at), query_of(tile, 1u, at), query_of(tile, 2u, at), query_of(tile, 3u, at));
}

fn value_of_row(values: Rows, r: u32) -> f32 { return values[r]; }
