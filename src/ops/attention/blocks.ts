/** Keys per block of `blockEnd`. */
export const attentionBlock = 32;

/**
 * Largest `end` of each block of `attentionBlock` keys, which lets attention pass over blocks that nobody after them
 * sees. `end` (T) as attention takes it -> (ceil(T / attentionBlock)).
 */
export function attentionBlocks(end: Uint32Array): Uint32Array {
  const blocks = new Uint32Array(Math.ceil(end.length / attentionBlock));
  for (const [j, e] of end.entries()) {
    const block = Math.floor(j / attentionBlock);
    blocks[block] = Math.max(blocks[block] as number, e);
  }
  return blocks;
}
