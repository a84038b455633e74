// Changes logits (B,V) in place before they are sampled: single ones by penalties and bias, whole rows by a mask.
//   edit: l -> (l > 0 ? l / r : l r) + a for each of E (row, id, r, a), every (row, id) at most once
//   mask: l -> -inf where the row's bit is 0; bit id % 32 of word id / 32
// Dispatch: edit ceil(E/WG) workgroups, mask ceil(M*words/WG), 2-D past 65535.
// Source of r: Keskar et al. 2019 (arXiv:1909.05858).
struct Dims { count: u32, vocab: u32, words: u32, minus_infinity: u32 }

override WG: u32 = 64u;

@group(0) @binding(0) var<uniform> dims: Dims;
@group(0) @binding(1) var<storage, read> edits: array<u32>;            // (E,4) row, id, bits of r, bits of a
@group(0) @binding(2) var<storage, read> masked_rows: array<u32>;      // (M)
@group(0) @binding(3) var<storage, read> masks: array<u32>;            // (M,words)
@group(0) @binding(4) var<storage, read_write> logits: array<f32>;     // (B,V)

@compute @workgroup_size(WG)
fn edit(@builtin(workgroup_id) group: vec3u, @builtin(num_workgroups) groups: vec3u,
        @builtin(local_invocation_index) lane: u32) {
  let e = (group.y * groups.x + group.x) * WG + lane;
  if (e >= dims.count) { return; }
  let at = edits[4u * e] * dims.vocab + edits[4u * e + 1u];
  let r = bitcast<f32>(edits[4u * e + 2u]);
  let l = logits[at];
  logits[at] = select(l * r, l / r, l > 0.0) + bitcast<f32>(edits[4u * e + 3u]);
}

@compute @workgroup_size(WG)
fn mask(@builtin(workgroup_id) group: vec3u, @builtin(num_workgroups) groups: vec3u,
        @builtin(local_invocation_index) lane: u32) {
  let i = (group.y * groups.x + group.x) * WG + lane;
  if (i >= dims.count * dims.words) { return; }
  let m = i / dims.words;
  let first = (i - m * dims.words) * 32u;
  let row = masked_rows[m] * dims.vocab;
  let bits = masks[i];
  let end = min(first + 32u, dims.vocab);
  for (var id = first; id < end; id++) {
    if (((bits >> (id - first)) & 1u) == 0u) { logits[row + id] = bitcast<f32>(dims.minus_infinity); }
  }
}
