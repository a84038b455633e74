import { attentionBlock } from "./blocks.ts";
import {
  type AttentionVariant,
  dot,
  elementType,
  entry,
  headWidth,
  loadRows,
  perElement,
  preamble,
  readShared,
  storePerRow,
  storeRows,
  tileRows,
  zeroRows,
} from "./rows.ts";

/** First elements of this workgroup's query head and of its key head within a row of qkv. */
export function headOffsets(variant: AttentionVariant): string {
  const width = headWidth(variant);
  return `let query_head = group.y * ${width}u;
  let key_head = (dims.heads + group.y / (dims.heads / dims.kv_heads)) * ${width}u;`;
}

/** Opens the loop over the keys `j` that a row of the tile can see; blocks and keys that none sees are passed over. */
export function keyLoop(variant: AttentionVariant): string {
  return `let last = min(row0 + ${tileRows(variant)}u, dims.rows);
  for (var block = 0u; block < last; block += ${attentionBlock}u) {
    if (block_end[block / ${attentionBlock}u] <= row0) { continue; }
    let stop = min(block + ${attentionBlock}u, last);
    for (var j = block; j < stop; j++) {
      let until = min(end[j], dims.rows);
      if (until <= row0) { continue; }
      let key = j * stride + key_head;
      let value = key + dims.kv_heads * ${headWidth(variant)}u;
      let seen = (Places(j) <= place) & (place < Places(until));`;
}

/**
 * Attention forward with running softmax: o = softmax(scale q k^T over the keys seen) v, lse = log sum exp of the scores.
 * A workgroup owns a tile of query rows of one head and walks the keys in ascending order, one at a time. A key that a
 * row does not see changes nothing of it, bit for bit, so a row's result depends on its own keys alone: not on T,
 * packing, tree order or tile. A row that sees no key gets 0.
 * Dispatch: (ceil(T / tile), H). Source: Dao et al. 2022, arXiv:2205.14135; running softmax, Milakov & Gimelshein 2018.
 */
export function attentionForward(variant: AttentionVariant): string {
  const element = elementType(variant);
  return `${preamble(variant)}
@group(0) @binding(1) var<storage, read> qkv: array<${element}>;
@group(0) @binding(2) var<storage, read> end: array<u32>;
@group(0) @binding(3) var<storage, read> block_end: array<u32>;
@group(0) @binding(4) var<storage, read_write> o: array<${element}>;
@group(0) @binding(5) var<storage, read_write> lse: array<f32>;

const lowest = Rows(-3.4e38);

fn put(at: u32, value: ${element}) { o[at] = value; }

${entry(variant)}
  ${headOffsets(variant)}
  ${loadRows(variant, "q", "qkv", (place) => `${place} * stride + query_head`)}
  ${zeroRows(variant, "out")}
  var top = lowest;
  var sum = Rows(0.0);
  ${keyLoop(variant)}
      ${readShared(variant, "k", "qkv", "key")}
      ${dot(variant, "s", "q", "k")}
      s = select(lowest, s * dims.scale, seen);
      let peak = max(top, s);
      let fade = select(Rows(1.0), exp(top - peak), peak > top);
      let p = select(Rows(0.0), exp(s - peak), seen);
      top = peak;
      sum = fma(sum, fade, p);
      ${readShared(variant, "v", "qkv", "value")}
      ${perElement(variant, (d) => `out${d} = fma(p, Rows(v_${d}), out${d} * fade);`)}
    }
  }
  let blind = sum == Rows(0.0);
  let part = select(1.0 / sum, Rows(0.0), blind);
  let log_sum = select(top + log(sum), Rows(0.0), blind);
  ${perElement(variant, (d) => `out${d} *= part;`, "  ")}
  ${storeRows(variant, "out", (place) => `(${place} * dims.heads + group.y) * ${headWidth(variant)}u`)}
  ${storePerRow(variant, "log_sum", "lse", (place) => `${place} * dims.heads + group.y`)}
}
`;
}
