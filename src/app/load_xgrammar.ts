import type { GrammarLibrary, Xgrammar } from "../text/grammar/library.ts";

let loaded: Promise<Xgrammar> | null = null;
let loads = 0;
let lastWords: string | null = null;

/** A line of the library's own log: its level, the place in its source, and what it says. */
const logLine = /^\[(?:FATAL|WARNING|INFO|ERROR)\] \S+: (.*)/s;

/** The grammar library of this thread. */
export const xgrammar: GrammarLibrary = {
  load() {
    loaded ??= load();
    return loaded;
  },
  discard() {
    if (typeof import.meta.resolve === "function") loaded = null;
  },
  lastWords() {
    const words = lastWords;
    lastWords = null;
    return words;
  },
};

/**
 * The library ships as a script that, where it is run as it is, leaves itself on globalThis and, outside a page, looks for `location` where modules
 * have `import.meta.url`: it gets one while it starts. Another query makes another instance. It also takes the console's
 * functions as it finds them then, for a log of its own whose warnings stand in the way of a command's output.
 */
async function load(): Promise<Xgrammar> {
  const again = loads++ > 0 ? `${import.meta.resolve("@mlc-ai/web-xgrammar")}?${loads}` : null;
  const prior = Object.getOwnPropertyDescriptor(globalThis, "location");
  const { log, error } = console;
  const lacking = (globalThis as { location?: unknown }).location === undefined;
  if (lacking) {
    Object.defineProperty(globalThis, "location", { value: { href: import.meta.url }, configurable: true });
  }
  console.log = keptQuiet(log);
  console.error = keptQuiet(error);
  try {
    const module = (await (again === null ? import("@mlc-ai/web-xgrammar") : import(again))) as Loaded;
    const library = libraryOf(module);
    // Its WebAssembly starts with the first use.
    (await library.Grammar.builtinJSONGrammar()).dispose();
    return library;
  } finally {
    Object.assign(console, { log, error });
    if (lacking && prior) Object.defineProperty(globalThis, "location", prior);
    else if (lacking) Reflect.deleteProperty(globalThis, "location");
  }
}

/** What its import gives. */
type Loaded = Partial<Xgrammar> & { readonly default?: Partial<Xgrammar> };

/** A bundler takes the script for a module with exports; a runtime that runs it as it is finds it on globalThis. */
function libraryOf(module: Loaded): Xgrammar {
  const places = [module, module.default, (globalThis as { xgrammar?: Partial<Xgrammar> }).xgrammar];
  return places.find((place) => place?.GrammarCompiler !== undefined) as Xgrammar;
}

/** Writes what is not of the library's log, of which the last line is what it ended with. */
function keptQuiet(write: (...said: unknown[]) => void): (...said: unknown[]) => void {
  return (...said) => {
    const [text] = said;
    const words = typeof text === "string" ? logLine.exec(text)?.[1] : undefined;
    if (words !== undefined && String(text).startsWith("[FATAL]")) lastWords = words.trim();
    if (words === undefined && !String(text).startsWith("Aborted(")) write(...said);
  };
}
