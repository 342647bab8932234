import { posix } from "node:path";
import { importsOf, readSource } from "./source-text.ts";

/** A file under src: its path from there, with forward slashes, and its text. */
export interface SourceFile {
  readonly path: string;
  readonly text: string;
}

export interface Layer {
  /** The layers it may import besides itself. */
  readonly layers: readonly string[] | "all";
  /** The npm packages it may import. */
  readonly packages: readonly string[];
  /** The Node.js modules it may import, without `node:`. `process` is never among them. */
  readonly node: readonly string[] | "all";
}

/** The longest key that is a file's path, or a folder above it, is the file's layer. */
export type Layers = Readonly<Record<string, Layer>>;

export interface Rules {
  readonly layers: Layers;
  /** The one file that may touch `process`. */
  readonly processFile: string;
  readonly maxLines: number;
  /** Names that say nothing about what is inside. */
  readonly emptyNames: readonly string[];
}

/** Every breach of the rules, one line each, naming the file, what it does and the rule. */
export function breaches(files: readonly SourceFile[], rules: Rules): string[] {
  const sources = files.map((file) => ({ ...file, ...readSource(file.text) }));
  const imports = new Map(sources.map((source) => [source.path, importsOf(source)]));
  return [
    ...sources.flatMap(({ path, text, code }) => [
      ...nameBreaches(path, rules.emptyNames),
      ...lengthBreaches(path, text, rules.maxLines),
      ...(path === rules.processFile ? [] : processBreaches(path, code, rules.processFile)),
    ]),
    ...[...imports].flatMap(([path, specifiers]) => importBreaches(path, specifiers, imports, rules)),
    ...cycles(imports),
  ];
}

type Imports = ReadonlyMap<string, readonly (string | undefined)[]>;

function importBreaches(
  path: string,
  specifiers: readonly (string | undefined)[],
  files: Imports,
  rules: Rules,
): string[] {
  const name = layerOf(path, rules.layers);
  const layer = name === undefined ? undefined : rules.layers[name];
  if (name === undefined || layer === undefined) return [`${path} belongs to no layer: add it to the table`];

  const breachOf = (specifier: string | undefined): string | undefined => {
    if (specifier === undefined) return "a computed name: only a literal can be checked";
    const quoted = `"${specifier}"`;
    if (specifier.startsWith(".")) {
      const target = resolve(path, specifier);
      if (!files.has(target)) return `${quoted}, which is no file under src`;
      const of = layerOf(target, rules.layers);
      if (of === undefined || of === name || layer.layers === "all" || layer.layers.includes(of)) return;
      return `${quoted}: ${name} may import ${list([name, ...layer.layers])}, not ${of}`;
    }
    if (specifier === "process" || specifier === "node:process") {
      return path === rules.processFile ? undefined : `${quoted}: only ${rules.processFile} touches process`;
    }
    if (specifier.startsWith("node:")) {
      if (layer.node === "all" || layer.node.includes(specifier.slice("node:".length))) return;
      return `${quoted}: of Node.js ${name} may import ${list(layer.node)}`;
    }
    if (layer.packages.includes(packageOf(specifier))) return;
    return `${quoted}: of npm packages ${name} may import ${list(layer.packages)}`;
  };
  return specifiers.flatMap((specifier) => {
    const breach = breachOf(specifier);
    return breach === undefined ? [] : [`${path} imports ${breach}`];
  });
}

function layerOf(path: string, layers: Layers): string | undefined {
  const keys = Object.keys(layers).filter((key) => path === key || path.startsWith(`${key}/`));
  return keys.sort((a, b) => b.length - a.length)[0];
}

const resolve = (from: string, specifier: string): string => posix.join(posix.dirname(from), specifier);

/** `@scope/name/deep` → `@scope/name`, `name/deep` → `name`. */
const packageOf = (specifier: string): string =>
  specifier
    .split("/")
    .slice(0, specifier.startsWith("@") ? 2 : 1)
    .join("/");

const list = (names: readonly string[]): string => names.join(", ") || "none";

/** Each file is entered once; meeting one that is still open closes a cycle. */
function cycles(files: Imports): string[] {
  const found: string[] = [];
  const open: string[] = [];
  const done = new Set<string>();
  const visit = (path: string): void => {
    if (open.includes(path)) {
      found.push(`import cycle: ${[...open.slice(open.indexOf(path)), path].join(" → ")}`);
      return;
    }
    if (done.has(path)) return;
    done.add(path);
    open.push(path);
    for (const specifier of files.get(path) ?? []) {
      if (specifier?.startsWith(".")) visit(resolve(path, specifier));
    }
    open.pop();
  };
  for (const path of files.keys()) visit(path);
  return found;
}

function processBreaches(path: string, code: string, processFile: string): string[] {
  const use = /\bglobalThis\.process\b|(?<![.\w$#])process\s*(?:\?\.|[.[])|=\s*process\s*[;,)\n]/.exec(code);
  return use ? [`${path} uses process: only ${processFile} touches it`] : [];
}

function nameBreaches(path: string, emptyNames: readonly string[]): string[] {
  const empty = path.split("/").find((name) => emptyNames.includes(name.replace(/\.ts$/, "")));
  return empty ? [`${path}: "${empty}" says nothing about what is inside`] : [];
}

function lengthBreaches(path: string, text: string, maxLines: number): string[] {
  const lines = text.replace(/\n$/, "").split("\n").length;
  return lines > maxLines ? [`${path} has ${lines} lines, and ${maxLines} is the most`] : [];
}
