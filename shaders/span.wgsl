// The elements an invocation handles: a workgroup owns WG*ITEMS consecutive elements and its invocations stride
// through them, so neighbours read neighbours, and adapters that emulate workgroups pay their overhead per ITEMS elements.
override WG: u32 = 256u;
override ITEMS: u32 = 1u;

struct Span { first: u32, end: u32 }

fn span_of(group: vec3u, groups: vec3u, lane: u32, count: u32) -> Span {
  let start = (group.y * groups.x + group.x) * (WG * ITEMS);
  return Span(start + lane, min(start + WG * ITEMS, count));
}

/// Row and column of an element of a matrix.
struct Cell { row: u32, col: u32 }

fn cell_of(i: u32, width: u32) -> Cell {
  let row = i / width;
  return Cell(row, i - row * width);
}

/// The cell WG elements on: an integer division per element would cost more than most kernels do with it.
fn next_cell(cell: Cell, width: u32) -> Cell {
  var next = Cell(cell.row, cell.col + WG);
  while (next.col >= width) {
    next.col -= width;
    next.row += 1u;
  }
  return next;
}
