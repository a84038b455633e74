import type * as Module from "@mlc-ai/web-xgrammar";

/** The grammar library: one instance of its WebAssembly. */
export type Xgrammar = typeof Module;

/** Where the library comes from. */
export interface GrammarLibrary {
  /** The instance, loaded at the first call. */
  load(): Promise<Xgrammar>;
  /** Forgets an instance that aborted; the next load makes a fresh one where the runtime can import a module anew. */
  discard(): void;
  /** What the library last said of its end, once; null when it said nothing. */
  lastWords(): string | null;
}
