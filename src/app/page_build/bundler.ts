import { createHash } from "node:crypto";
import { readFile } from "node:fs/promises";
import { basename, join, relative } from "node:path";
import type { BuildOptions, Metafile, OutputFile, Plugin } from "esbuild";
import { type ErrorDetail, LeydenError } from "../../core/errors.ts";
import { moduleUrls, type NamedModule } from "./module_urls.ts";

type Esbuild = typeof import("esbuild");

/** `folder`: files that load each other; `single`: one text that holds everything. */
export type PageForm = "folder" | "single";

/** The page could not be bundled: its sources are at fault. */
export class PageBuildError extends LeydenError {
  constructor(message: string, detail: ErrorDetail = {}) {
    super("page_build", message, { do: "Correct the named source, then build again.", ...detail }, 1);
  }
}

/** A bundled entry point. */
export interface Bundle {
  /** Name of the entry's file among the outputs. */
  readonly name: string;
  readonly code: string;
  /** Names of the files that load with it, itself included, and not only when asked for. */
  readonly initial: readonly string[];
}

/** A module bundled by itself. */
export interface Alone {
  readonly code: string;
  /** Modules it still imports. */
  readonly external: readonly string[];
  /** Names that it exports. */
  readonly exported: readonly string[];
}

/** Browsers whose syntax the bundles keep to. */
const target = ["chrome121", "firefox128", "safari18"];

const inlineNamespace = "worker-text";

/** Address of a script in a single file, for packages that ask for theirs: nothing lies beside it. */
export const noAddress: string = JSON.stringify("https://leyden.invalid/script.js");

/** Packages that also run on Node name its modules in branches that no browser takes. */
const nodeBranches: Plugin = {
  name: "node-branches",
  setup(build) {
    build.onResolve(
      { filter: /^(node:)?(fs|fs\/promises|path|url|module|crypto|worker_threads|os)$/ },
      ({ importer, path }) => (/[\\/]node_modules[\\/]/.test(importer) ? { path, namespace: "node-branch" } : null),
    );
    build.onLoad({ filter: /.*/, namespace: "node-branch" }, () => ({ contents: "module.exports = {};" }));
  },
};

/** Bundles entry points for browsers, and with them the workers that they name. */
export class PageBundler {
  /** Files made so far, by name; they load each other from one folder. Empty for `single`. */
  readonly outputs: Map<string, Uint8Array> = new Map();
  /** Sources that went in, relative to the root. */
  readonly inputs: Set<string> = new Set();
  private readonly esbuild: Esbuild;
  private readonly root: string;
  readonly form: PageForm;
  private readonly named = new Map<string, Promise<NamedModule>>();
  private readonly texts = new Map<string, string>();
  private fault: PageBuildError | null = null;

  constructor(esbuild: Esbuild, root: string, form: PageForm) {
    this.esbuild = esbuild;
    this.root = root;
    this.form = form;
  }

  /** Bundles a module or a style sheet, and what it loads when asked for. @throws PageBuildError */
  async bundle(entry: string): Promise<Bundle> {
    const { outputFiles, metafile } = await this.build(entry, {});
    const name = entryOf(metafile, relative(this.root, entry));
    if (this.form === "folder") for (const file of outputFiles) this.outputs.set(basename(file.path), file.contents);
    const made = outputFiles.find(({ path }) => basename(path) === name) as OutputFile;
    return { name, code: made.text, initial: initialOf(metafile, name) };
  }

  /** Bundles a module into one text by itself, in a form of its own. @throws PageBuildError */
  async bundleAlone(
    entry: string,
    options: Pick<BuildOptions, "format" | "inject" | "external" | "define">,
  ): Promise<Alone> {
    const { outputFiles, metafile } = await this.build(entry, { splitting: false, ...options });
    const imports = Object.values(metafile.outputs).flatMap((output) => output.imports);
    return {
      code: (outputFiles[0] as OutputFile).text,
      external: imports.filter(({ external }) => external === true).map(({ path }) => path),
      exported: Object.values(metafile.outputs).flatMap((output) => output.exports),
    };
  }

  private async build(
    entry: string,
    options: BuildOptions,
  ): Promise<{ outputFiles: OutputFile[]; metafile: Metafile }> {
    const result = await this.esbuild
      .build({
        absWorkingDir: this.root,
        entryPoints: [entry],
        outdir: join(this.root, "assets"),
        entryNames: "[name]-[hash]",
        chunkNames: "chunk-[hash]",
        assetNames: "[name]-[hash]",
        bundle: true,
        minify: true,
        // Errors carry the names of their classes.
        keepNames: true,
        splitting: this.form === "folder",
        format: "esm",
        platform: "browser",
        target,
        jsx: "automatic",
        jsxImportSource: "hono/jsx/dom",
        legalComments: "none",
        inject: [join(this.root, "src/app/page_build/zod_without_eval.ts")],
        write: false,
        metafile: true,
        logLevel: "silent",
        plugins: [moduleUrls((path) => this.resolveNamed(path)), this.inlineTexts(), nodeBranches],
        ...options,
      })
      .catch((cause: unknown) => {
        // A worker that could not be bundled is at fault, not whoever names it.
        if (this.fault !== null) throw this.fault;
        const reason = cause instanceof Error ? cause.message.split("\n").slice(0, 6).join(" ") : String(cause);
        this.fault = new PageBuildError(`${relative(this.root, entry)} cannot be bundled: ${reason}`, { cause });
        throw this.fault;
      });
    const metafile = result.metafile as Metafile;
    for (const input of Object.keys(metafile.inputs)) this.inputs.add(input);
    return { outputFiles: result.outputFiles ?? [], metafile };
  }

  /** Each named file once, however many name it. */
  private resolveNamed(path: string): Promise<NamedModule> {
    const known = this.named.get(path);
    if (known !== undefined) return known;
    const made = path.endsWith(".wasm") ? this.namedFile(path) : this.namedWorker(path);
    this.named.set(path, made);
    return made;
  }

  private async namedFile(path: string): Promise<NamedModule> {
    const bytes = await readFile(path);
    if (this.form === "single") {
      const address = JSON.stringify(`data:application/wasm;base64,${bytes.toString("base64")}`);
      return { expression: `new URL(${address})`, imports: "" };
    }
    const digest = createHash("sha256").update(bytes).digest("hex").slice(0, 8);
    const name = basename(path).replace(/\.wasm$/, `-${digest}.wasm`);
    this.outputs.set(name, bytes);
    return { expression: `new URL("./${name}", import.meta.url)`, imports: "" };
  }

  private async namedWorker(path: string): Promise<NamedModule> {
    if (this.form === "folder") {
      const { name } = await this.bundle(path);
      return { expression: `new URL("./${name}", import.meta.url)`, imports: "" };
    }
    // From a disk browsers start no module from a blob, only a script.
    const { code } = await this.bundleAlone(path, { format: "iife", define: { "import.meta.url": noAddress } });
    const identifier = `workerText_${createHash("sha256").update(path).digest("hex").slice(0, 8)}`;
    this.texts.set(path, code);
    const blob = `new Blob([${identifier}], { type: "text/javascript" })`;
    return {
      expression: `new URL(URL.createObjectURL(${blob}))`,
      imports: `import ${identifier} from ${JSON.stringify(`${inlineNamespace}:${path}`)};`,
    };
  }

  private inlineTexts(): Plugin {
    const { texts } = this;
    return {
      name: "inline-texts",
      setup(build) {
        const prefix = `${inlineNamespace}:`;
        build.onResolve({ filter: new RegExp(`^${prefix}`) }, ({ path }) => ({
          path: path.slice(prefix.length),
          namespace: inlineNamespace,
        }));
        build.onLoad({ filter: /.*/, namespace: inlineNamespace }, ({ path }) => ({
          contents: texts.get(path) ?? "",
          loader: "text",
        }));
      },
    };
  }
}

function entryOf({ outputs }: Metafile, entry: string): string {
  const found = Object.entries(outputs).find(([, { entryPoint }]) => entryPoint === entry.replaceAll("\\", "/"));
  if (found === undefined) throw new PageBuildError(`${entry} gave no file.`);
  return basename(found[0]);
}

/** The file and all that its import declarations reach. */
function initialOf({ outputs }: Metafile, entry: string): string[] {
  const seen = new Set<string>();
  const visit = (path: string): void => {
    const output = outputs[path];
    if (output === undefined || seen.has(basename(path))) return;
    seen.add(basename(path));
    for (const { path: imported, kind } of output.imports) if (kind === "import-statement") visit(imported);
  };
  visit(`assets/${entry}`);
  return [...seen];
}
