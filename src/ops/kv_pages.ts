/** Tokens of one page of the key-value cache. */
export const pageTokens = 16;
