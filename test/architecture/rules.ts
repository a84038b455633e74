import { posix } from "node:path";
import { edgeFiles, edgePackages, forbiddenGlobals, impureFolders, type Layer, layers, maxLines } from "./layers.ts";
import { codeOnly, type ImportRecord, importsOf, type SourceFile } from "./source.ts";

/** The layer a file belongs to, or undefined: then it has no place in the tree. */
export function layerOf(path: string): Layer | undefined {
  return layers.find(({ folder }) => path === folder || (folder.endsWith("/") && path.startsWith(folder)));
}

function isListed(specifier: string, list: readonly string[] | "*"): boolean {
  if (list === "*") return true;
  return list.some((entry) => specifier === entry || (/[/:]$/.test(entry) && specifier.startsWith(entry)));
}

function packageProblem(file: SourceFile, layer: Layer, { specifier, typeOnly }: ImportRecord): string | null {
  const allowed = edgeFiles.test(file.path) ? edgePackages : layer.packages;
  if (isListed(specifier, allowed)) return null;
  if (typeOnly && isListed(specifier, layer.typePackages ?? [])) return null;
  return `${layer.name} may not import ${specifier}`;
}

function importProblem(file: SourceFile, layer: Layer, record: ImportRecord): string | null {
  const { specifier } = record;
  if (specifier === "?") return layer.imports === "*" ? null : "import() of something that is not a literal";
  if (!specifier.startsWith(".")) return packageProblem(file, layer, record);
  if (!/\.(tsx?|mjs|json)$/.test(specifier)) return `import of ${specifier} lacks its suffix`;
  const target = layerOf(posix.join(posix.dirname(file.path), specifier));
  if (target === undefined) return `import of ${specifier}, which is in no layer`;
  const allowed = target.name === layer.name || layer.imports === "*" || layer.imports.includes(target.name);
  return allowed ? null : `${layer.name} may not import ${target.name} (${specifier})`;
}

/** Imports against the layer table. */
export function layerViolations(files: readonly SourceFile[]): string[] {
  return files.flatMap((file) => {
    const layer = layerOf(file.path);
    if (layer === undefined) return [`${file.path}: is in no layer`];
    return importsOf(file.text).flatMap((record) => {
      const problem = importProblem(file, layer, record);
      return problem === null ? [] : [`${file.path}:${record.line}: ${problem}`];
    });
  });
}

/** Time, randomness and runtime globals outside the places that may touch them. */
export function purityViolations(files: readonly SourceFile[]): string[] {
  const pure = files.filter(({ path }) => !edgeFiles.test(path) && !impureFolders.some((f) => path.startsWith(f)));
  return pure.flatMap(({ path, text }) =>
    codeOnly(text)
      .split("\n")
      .flatMap((line, i) =>
        forbiddenGlobals.flatMap(([pattern, instead]) => {
          const found = pattern.exec(line)?.[0];
          return found === undefined ? [] : [`${path}:${i + 1}: ${found} is not allowed here; use ${instead}`];
        }),
      ),
  );
}

/** Tests that run on Node, Deno and Chromium, and the modules beside the product that work on all three. */
const portableTests = /^test\/(bare|device|ops|host)\//;
const portableModules = ["#test", "#platform", "fast-check"];

/** Tests for every runtime that import something only one of them has. */
export function portabilityViolations(files: readonly SourceFile[]): string[] {
  return files.flatMap(({ path, text }) => {
    if (!portableTests.test(path)) return [];
    return importsOf(text)
      .filter(
        ({ specifier, typeOnly }) => !typeOnly && !specifier.startsWith(".") && !portableModules.includes(specifier),
      )
      .map(({ specifier, line }) => `${path}:${line}: runs on every runtime; import #test instead of ${specifier}`);
  });
}

/** Tests for every runtime that open a device of their own, with features that the run leaves off. */
export function deviceViolations(files: readonly SourceFile[]): string[] {
  return files.flatMap(({ path, text }) => {
    if (!portableTests.test(path)) return [];
    return codeOnly(text)
      .split("\n")
      .flatMap((line, i) =>
        /\bopenDevice\(/.test(line) ? [`${path}:${i + 1}: openDevice is not allowed here; use openTestDevice`] : [],
      );
  });
}

/** Files too long to hold one concept. */
export function lengthViolations(files: readonly SourceFile[]): string[] {
  return files.flatMap(({ path, text }) => {
    const lines = text.trimEnd().split("\n").length;
    return lines <= maxLines ? [] : [`${path}: ${lines} lines; at most ${maxLines}: split it by concept`];
  });
}

const vagueNames = /(^|\/)(utils?|helpers?|misc|common|stuff)\.(ts|mjs)$/;

/** File names that say nothing about what is inside. */
export function nameViolations(files: readonly SourceFile[]): string[] {
  return files.flatMap(({ path }) => (vagueNames.test(path) ? [`${path}: name it after its concept`] : []));
}

/** The stem itself and its shorter forms: "matmul_tiled" -> ["matmul_tiled", "matmul"]. */
function stemsOf(stem: string): string[] {
  const parts = stem.split("_");
  return parts.map((_, i) => parts.slice(0, parts.length - i).join("_"));
}

/** The file of src/ops that an import means, "attention/rows" say, or undefined. */
function opFileOf({ path }: SourceFile, { specifier }: ImportRecord): string | undefined {
  return /^src\/ops\/([\w/]+)\.ts$/.exec(posix.join(posix.dirname(path), specifier))?.[1];
}

function opFilesImportedBy(files: readonly SourceFile[]): Set<string> {
  return new Set(files.flatMap((file) => importsOf(file.text).flatMap((record) => opFileOf(file, record) ?? [])));
}

/**
 * An op is complete when it is in src/ops/registry.ts, has a shader of its stem (or a folder of its stem that generates
 * it), and a test of its stem. Any other file there that has kernels needs a test of its stem or of the family it is
 * named after, or a test or an op that uses it. The stem of a file in a folder begins with the folder's name:
 * attention/forward.ts is attention_forward, of the family attention. `tests` are the files in test/ops.
 */
export function opViolations(
  files: readonly SourceFile[],
  shaders: readonly string[],
  tests: readonly SourceFile[],
): string[] {
  const isOp = ({ text }: SourceFile) => /^export const \w+: Op</m.test(codeOnly(text));
  const registered = opFilesImportedBy(files.filter(({ path }) => path === "src/ops/registry.ts"));
  const used = opFilesImportedBy([...tests, ...files.filter(isOp)]);
  return files.flatMap((file) => {
    const inside = /^src\/ops\/([\w/]+)\.ts$/.exec(file.path)?.[1];
    if (inside === undefined) return [];
    const stem = inside.replaceAll("/", "_");
    const names = stemsOf(stem);
    const hasKernels = /[^.\w]kernel\(/.test(codeOnly(file.text));
    const hasTest = tests.some(({ path }) => names.some((name) => path === `test/ops/${name}.test.ts`));
    if (!isOp(file)) {
      return hasKernels && !hasTest && !used.has(inside) ? [`${file.path}: there is no test/ops/${stem}.test.ts`] : [];
    }
    const hasShader =
      names.some((name) => shaders.includes(`shaders/${name}.wgsl`)) ||
      shaders.some((shader) => shader.startsWith(`shaders/${stem}_`)) ||
      files.some(({ path }) => path.startsWith(`src/ops/${stem}/`));
    const out: string[] = [];
    if (!registered.has(inside)) out.push(`${file.path}: is not in src/ops/registry.ts`);
    if (hasKernels && !hasShader) out.push(`${file.path}: there is no shaders/${stem}.wgsl`);
    if (!hasTest) out.push(`${file.path}: there is no test/ops/${stem}.test.ts`);
    return out;
  });
}
