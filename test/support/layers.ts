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
  /** Its folders, and which of the others each may import. A folder that is not named may not exist. */
  readonly rooms?: Readonly<Record<string, readonly string[]>>;
}

/** The longest key that is a file's path, or a folder above it, is the file's layer. */
export type Layers = Readonly<Record<string, Layer>>;

export interface Rules {
  readonly layers: Layers;
  /** The one file that may touch `process`. */
  readonly processFile: string;
  readonly maxLines: number;
  /** Most files directly in one folder. */
  readonly maxFiles: number;
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
    ...cycles(fileGraph(imports)).map((cycle) => `import cycle: ${cycle}`),
    ...cycles(folderGraph(imports)).map((cycle) => `folders import each other: ${cycle}`),
    ...folderBreaches(files, rules),
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
      if (of === name) {
        const rule = roomRule(path, target, name, layer);
        return rule === undefined ? undefined : `${quoted}: ${rule}`;
      }
      if (of === undefined || layer.layers === "all" || layer.layers.includes(of)) return;
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
  const room = roomOf(path, name);
  const isUnknownRoom = room !== undefined && layer.rooms !== undefined && layer.rooms[room] === undefined;
  if (isUnknownRoom) return [`${path} belongs to no room of ${name}: add ${room} to the table`];
  return specifiers.flatMap((specifier) => {
    const breach = breachOf(specifier);
    return breach === undefined ? [] : [`${path} imports ${breach}`];
  });
}

/** Files directly in the layer's folder belong to no room, and may import every room. */
function roomRule(path: string, target: string, name: string, { rooms }: Layer): string | undefined {
  const from = roomOf(path, name);
  if (rooms === undefined || from === undefined) return undefined;
  const to = roomOf(target, name);
  const allowed = [from, ...(rooms[from] ?? [])];
  if (to !== undefined && allowed.includes(to)) return undefined;
  return `in ${name}, ${from} may import ${list(allowed)}, not ${to ?? "the files outside of the rooms"}`;
}

/** `engine/lease/lease.ts` → `lease`; undefined for a file directly in the layer's folder. */
function roomOf(path: string, layer: string): string | undefined {
  const [first, ...rest] = path.slice(layer.length + 1).split("/");
  return rest.length > 0 ? first : undefined;
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

type Graph = ReadonlyMap<string, ReadonlySet<string>>;

const fileGraph = (files: Imports): Graph =>
  new Map([...files.keys()].map((path) => [path, new Set(targetsOf(path, files))]));

/** A folder and a folder inside it are two nodes. */
function folderGraph(files: Imports): Graph {
  const graph = new Map<string, Set<string>>();
  for (const path of files.keys()) {
    const folder = posix.dirname(path);
    const targets = graph.get(folder) ?? new Set();
    for (const target of targetsOf(path, files)) targets.add(posix.dirname(target));
    targets.delete(folder);
    graph.set(folder, targets);
  }
  return graph;
}

const targetsOf = (path: string, files: Imports): string[] =>
  (files.get(path) ?? []).flatMap((specifier) =>
    specifier?.startsWith(".") ? [resolve(path, specifier)] : [],
  );

/** Enters each node once. A node that is met again while it is still open closes a cycle. */
function cycles(graph: Graph): string[] {
  const found: string[] = [];
  const open: string[] = [];
  const done = new Set<string>();
  const visit = (node: string): void => {
    if (open.includes(node)) {
      found.push([...open.slice(open.indexOf(node)), node].join(" → "));
      return;
    }
    if (done.has(node)) return;
    done.add(node);
    open.push(node);
    for (const target of graph.get(node) ?? []) visit(target);
    open.pop();
  };
  for (const node of graph.keys()) visit(node);
  return found;
}

function folderBreaches(files: readonly SourceFile[], { maxFiles }: Rules): string[] {
  const counts = new Map<string, number>();
  for (const { path } of files) {
    const folder = posix.dirname(path);
    counts.set(folder, (counts.get(folder) ?? 0) + 1);
  }
  return [...counts].flatMap(([folder, count]) =>
    count > maxFiles ? [`${folder} holds ${count} files, and ${maxFiles} is the most`] : [],
  );
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
