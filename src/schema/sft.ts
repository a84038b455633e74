/** Training data of supervised fine-tuning, as modules and files give it. */

/** Token ids of a text; `mask` is 1 where the model is to learn to write the token. Both have one length. */
export interface SftExample {
  readonly ids: ArrayLike<number>;
  readonly mask: ArrayLike<number>;
}

/** Examples by number; the same number is always the same example. */
export interface SftDataset {
  readonly size: number;
  example(index: number): SftExample;
}

/** What a dataset module gets. */
export interface SftDatasetOptions {
  /** Token ids of a text, special tokens in it matched; nothing is added before or after. */
  encode(text: string): number[];
  seed: number;
}

/** What a dataset module exports, under the name after "#" or as `sftDataset`. */
export type SftDatasetFactory = (options: SftDatasetOptions) => SftDataset | Promise<SftDataset>;
