import type { GrammarLibrary, Xgrammar } from "../text/grammar/library.ts";

let loaded: Promise<Xgrammar> | null = null;
let loads = 0;

/** The grammar library of this thread. */
export const xgrammar: GrammarLibrary = {
  load() {
    loaded ??= load();
    return loaded;
  },
  discard() {
    if (typeof import.meta.resolve === "function") loaded = null;
  },
};

/**
 * The library ships as a script that leaves itself on globalThis and, outside a page, looks for `location` where modules
 * have `import.meta.url`: it gets one while it starts. Another query makes another instance.
 */
async function load(): Promise<Xgrammar> {
  const again = loads++ > 0 ? `${import.meta.resolve("@mlc-ai/web-xgrammar")}?${loads}` : null;
  const prior = Object.getOwnPropertyDescriptor(globalThis, "location");
  const lacking = (globalThis as { location?: unknown }).location === undefined;
  if (lacking) {
    Object.defineProperty(globalThis, "location", { value: { href: import.meta.url }, configurable: true });
  }
  try {
    await (again === null ? import("@mlc-ai/web-xgrammar") : import(again));
    const library = (globalThis as unknown as { xgrammar: Xgrammar }).xgrammar;
    // Its WebAssembly starts with the first use.
    (await library.Grammar.builtinJSONGrammar()).dispose();
    return library;
  } finally {
    if (lacking && prior) Object.defineProperty(globalThis, "location", prior);
    else if (lacking) Reflect.deleteProperty(globalThis, "location");
  }
}
