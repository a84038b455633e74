import { headOffsets, keyLoop } from "./forward.ts";
import {
  type AttentionVariant,
  addScaled,
  dot,
  elementType,
  entry,
  headWidth,
  loadPerRow,
  loadRows,
  preamble,
  readShared,
  storePerRow,
  storeRows,
  tileRows,
  zeroRows,
} from "./rows.ts";

function putGradient(element: string): string {
  return `fn put(at: u32, value: ${element}) {
  var g = value;
  if (dims.add == 1u) { g += dqkv[at]; }
  dqkv[at] = g;
}`;
}

/**
 * Attention backward to the queries, and the row sums that the other half needs: with p = exp(scale q k^T - lse),
 * delta = sum over d of do * o, ds = p (do v^T - delta) scale: dq = sum over keys of ds k. Tiles and key loop as forward.
 * Dispatch: (ceil(T / tile), H). Source: Dao et al. 2022, arXiv:2205.14135, algorithm 4.
 */
export function attentionQueryGradient(variant: AttentionVariant): string {
  const element = elementType(variant);
  const ofHead = (place: string): string => `(${place} * dims.heads + group.y) * ${headWidth(variant)}u`;
  return `${preamble(variant)}
@group(0) @binding(1) var<storage, read> qkv: array<${element}>;
@group(0) @binding(2) var<storage, read> end: array<u32>;
@group(0) @binding(3) var<storage, read> block_end: array<u32>;
@group(0) @binding(4) var<storage, read> o: array<${element}>;
@group(0) @binding(5) var<storage, read> lse: array<f32>;
@group(0) @binding(6) var<storage, read> d_o: array<${element}>;
@group(0) @binding(7) var<storage, read_write> delta: array<f32>;
@group(0) @binding(8) var<storage, read_write> dqkv: array<${element}>;

${putGradient(element)}

${entry(variant)}
  ${headOffsets(variant)}
  ${loadRows(variant, "q", "qkv", (place) => `${place} * stride + query_head`)}
  ${loadRows(variant, "g", "d_o", ofHead)}
  ${loadPerRow(variant, "log_sum", "lse", (place) => `${place} * dims.heads + group.y`)}
  ${rowSums(variant)}
  ${zeroRows(variant, "dq")}
  ${keyLoop(variant)}
      ${readShared(variant, "k", "qkv", "key")}
      ${readShared(variant, "v", "qkv", "value")}
      ${dot(variant, "s", "q", "k")}
      ${dot(variant, "dp", "g", "v")}
      let p = select(Rows(0.0), exp(s * dims.scale - log_sum), seen);
      let ds = select(Rows(0.0), p * (dp - row_sum) * dims.scale, seen);
      ${addScaled(variant, "dq", "ds", "k")}
    }
  }
  ${storeRows(variant, "dq", (place) => `${place} * stride + query_head`)}
  ${storePerRow(variant, "row_sum", "delta", (place) => `${place} * dims.heads + group.y`)}
}
`;
}

/** `row_sum`: sum over d of do * o for each row. */
function rowSums(variant: AttentionVariant): string {
  const { headDim, rowsPerThread } = variant;
  const vectors = headDim % 4 === 0;
  const one = vectors
    ? "for (var q = 0u; q < 4u; q++) { total = fma(d_o[at][q], o[at][q], total); }"
    : "total = fma(d_o[at], o[at], total);";
  const width = vectors ? "dims.chunks" : `${headDim}u`;
  return `var row_sum = Rows(0.0);
  for (var i = 0u; i < dims.rows_per_thread; i++) {
    let base = (min(first + i, dims.rows - 1u) * dims.heads + group.y) * ${headWidth(variant)}u;
    var total = 0.0;
    for (var at = base; at < base + ${width}; at++) { ${one} }
    row_sum${rowsPerThread === 1 ? "" : "[i]"} = total;
  }`;
}

/**
 * Attention backward to keys and values: dv = sum over queries of p do, dk = sum over queries of ds q, p and ds as in
 * the query half. A workgroup owns a tile of key rows of one key-value head and walks the heads that share it and, for
 * each, the queries that can see the tile, in ascending order.
 * Dispatch: (ceil(T / tile), KV).
 */
export function attentionKeyValueGradient(variant: AttentionVariant): string {
  const element = elementType(variant);
  const width = headWidth(variant);
  const valueShift = `dims.kv_heads * ${width}u`;
  return `${preamble(variant)}
@group(0) @binding(1) var<storage, read> qkv: array<${element}>;
@group(0) @binding(2) var<storage, read> end: array<u32>;
@group(0) @binding(3) var<storage, read> lse: array<f32>;
@group(0) @binding(4) var<storage, read> d_o: array<${element}>;
@group(0) @binding(5) var<storage, read> delta: array<f32>;
@group(0) @binding(6) var<storage, read_write> dqkv: array<${element}>;

${putGradient(element)}

${entry(variant)}
  let shared_by = dims.heads / dims.kv_heads;
  let key_head = (dims.heads + group.y) * ${width}u;
  ${loadRows(variant, "k", "qkv", (place) => `${place} * stride + key_head`)}
  ${loadRows(variant, "v", "qkv", (place) => `${place} * stride + key_head + ${valueShift}`)}
  var until = Places(0u);
  for (var i = 0u; i < dims.rows_per_thread; i++) {
    until${variant.rowsPerThread === 1 ? "" : "[i]"} = min(end[min(first + i, dims.rows - 1u)], dims.rows);
  }
  var last = 0u;
  for (var j = row0; j < min(row0 + ${tileRows(variant)}u, dims.rows); j++) { last = max(last, min(end[j], dims.rows)); }
  ${zeroRows(variant, "dk")}
  ${zeroRows(variant, "dv")}
  for (var h = group.y * shared_by; h < (group.y + 1u) * shared_by; h++) {
    for (var t = row0; t < last; t++) {
      let seen = (place <= Places(t)) & (Places(t) < until);
      let query = t * stride + h * ${width}u;
      let result = (t * dims.heads + h) * ${width}u;
      ${readShared(variant, "q", "qkv", "query")}
      ${readShared(variant, "g", "d_o", "result")}
      ${dot(variant, "s", "k", "q")}
      ${dot(variant, "dp", "v", "g")}
      let p = select(Rows(0.0), exp(s * dims.scale - lse[t * dims.heads + h]), seen);
      let ds = select(Rows(0.0), p * (dp - delta[t * dims.heads + h]) * dims.scale, seen);
      ${addScaled(variant, "dv", "p", "g")}
      ${addScaled(variant, "dk", "ds", "q")}
    }
  }
  ${storeRows(variant, "dk", (place) => `${place} * stride + key_head`)}
  ${storeRows(variant, "dv", (place) => `${place} * stride + key_head + ${valueShift}`)}
}
`;
}
