/** Byte-level byte pair encoding: the trainer behind tokenizer.json. */

/** A pair of tokens that becomes one. */
export type Merge = readonly [left: string, right: string];

/** Tokens by id, and merges in the order they apply. */
export interface Bpe {
  vocab: string[];
  merges: Merge[];
}

/** The character that stands for each byte: itself where it is printable, else one from U+0100 on (as in GPT-2). */
export const byteCharacters: readonly string[] = (() => {
  const printable = (byte: number) => (byte >= 33 && byte <= 126) || (byte >= 161 && byte !== 173);
  let next = 256;
  return Array.from({ length: 256 }, (_, byte) => String.fromCodePoint(printable(byte) ? byte : next++));
})();

/** A text as byte characters. */
export function toByteCharacters(text: string): string {
  let out = "";
  for (const byte of new TextEncoder().encode(text)) out += byteCharacters[byte];
  return out;
}

interface Word {
  symbols: string[];
  count: number;
}

/** Code unit order, the same on every machine. */
export function byCodeUnits(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0;
}

/** How often each pair stands in the words, and in which of them; kept up to date as pairs are joined. */
class PairCounts {
  readonly counts = new Map<string, number>();
  private readonly places = new Map<string, Set<Word>>();

  constructor(words: readonly Word[]) {
    for (const word of words) this.add(word, 1);
  }

  /** Joins a pair wherever it stands. */
  join(left: string, right: string): void {
    for (const word of [...(this.places.get(`${left} ${right}`) ?? [])]) {
      this.add(word, -1);
      word.symbols = joinPair(word.symbols, left, right);
      this.add(word, 1);
    }
  }

  private add(word: Word, sign: 1 | -1): void {
    const { symbols, count } = word;
    for (let i = 0; i + 1 < symbols.length; i++) {
      const pair = `${symbols[i]} ${symbols[i + 1]}`;
      const left = (this.counts.get(pair) ?? 0) + sign * count;
      if (left > 0) this.counts.set(pair, left);
      else this.counts.delete(pair);
      const places = this.places.get(pair) ?? new Set();
      this.places.set(pair, places);
      if (sign === 1) places.add(word);
      else places.delete(word);
    }
  }
}

function joinPair(symbols: readonly string[], left: string, right: string): string[] {
  const out: string[] = [];
  for (let i = 0; i < symbols.length; i++) {
    if (symbols[i] === left && symbols[i + 1] === right) {
      out.push(left + right);
      i++;
    } else out.push(symbols[i] as string);
  }
  return out;
}

/**
 * Learns merges from words (pre-tokenised text) with their counts: each step joins the most frequent pair, of equally
 * frequent ones that with the smaller token ids. The vocabulary starts with all 256 bytes.
 * Source: Sennrich et al. 2016, arXiv:1508.07909.
 */
export function trainBpe(counts: ReadonlyMap<string, number>, vocabSize: number): Bpe {
  const vocab = [...byteCharacters].sort(byCodeUnits);
  const ids = new Map(vocab.map((token, id) => [token, id]));
  const words = [...counts].map(([text, count]): Word => ({ symbols: [...toByteCharacters(text)], count }));
  const merges: Merge[] = [];
  const pairs = new PairCounts(words);
  const rank = (pair: string) => pair.split(" ").map((token) => ids.get(token) as number) as [number, number];
  while (vocab.length < vocabSize) {
    let best: { pair: string; count: number; rank: [number, number] } | undefined;
    for (const [pair, count] of pairs.counts) {
      if (best && count < best.count) continue;
      const [left, right] = rank(pair);
      const wins =
        !best || count > best.count || left < best.rank[0] || (left === best.rank[0] && right < best.rank[1]);
      if (wins) best = { pair, count, rank: [left, right] };
    }
    if (!best) break;
    const [left, right] = best.pair.split(" ") as [string, string];
    merges.push([left, right]);
    if (!ids.has(left + right)) {
      ids.set(left + right, vocab.length);
      vocab.push(left + right);
    }
    pairs.join(left, right);
  }
  return { vocab, merges };
}
