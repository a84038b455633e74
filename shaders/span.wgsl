// The elements an invocation handles: a workgroup owns WG*ITEMS consecutive elements and its invocations stride
// through them, so neighbours read neighbours, and adapters that emulate workgroups pay their overhead per ITEMS elements.
override WG: u32 = 256u;
override ITEMS: u32 = 1u;

struct Span { first: u32, end: u32 }

fn span_of(group: vec3u, groups: vec3u, lane: u32, count: u32) -> Span {
  let start = (group.y * groups.x + group.x) * (WG * ITEMS);
  return Span(start + lane, min(start + WG * ITEMS, count));
}
