import {
  type Alias,
  type Document,
  isAlias,
  isCollection,
  isMap,
  isNode,
  isScalar,
  isSeq,
  LineCounter,
  type Node,
  parseDocument,
  type Scalar,
  visit,
  type YAMLMap,
} from "yaml";
import { isJsonObject, type Json, type JsonObject } from "../../core/text/json.ts";
import { interpolate, type ValueSources } from "./interpolate.ts";
import type { Path, Problem } from "./problem-report.ts";
import { syntaxProblems, TOO_DEEP } from "./syntax-problems.ts";

/** A config file as plain data, with the location of each value. */
export interface ConfigDocument {
  /** The data with every `${…}` replaced. Undefined if the text is not YAML. */
  readonly tree: Json | undefined;
  readonly problems: readonly Problem[];
  /** The location of a value. If there is none at this path, that of the innermost map or list around it. */
  readonly locate: (path: Path) => Location;
}

export interface Location {
  readonly line: number;
  /** A scalar before any `${…}` was replaced; undefined for a map, a list and a value that isn't there. */
  readonly written: string | number | boolean | null | undefined;
}

/** Far more than any config has. A few lines of nested aliases can stand for billions of values. */
const DEEPEST = 64;
const MOST_VALUES = 50_000;

/** The text exceeds a limit, and reading stops. */
class Excessive extends Error {}

/** Reads YAML text. Never throws: `problems` has everything that is wrong. */
export function readDocument(text: string, sources: ValueSources): ConfigDocument {
  const lines = new LineCounter();
  try {
    const yaml = parseDocument(text, { lineCounter: lines, prettyErrors: false, uniqueKeys: false });
    const broken = syntaxProblems(yaml.errors, text, lines);
    if (broken.length > 0) return unread(broken);
    const reader = new Reader(targetsOf(yaml), lines, sources);
    const tree = reader.read(yaml.contents, [], 1, []);
    return { tree, problems: reader.problems, locate: reader.locate };
  } catch (error) {
    if (!(error instanceof Excessive)) throw error;
    return unread([{ line: 1, path: [], message: error.message }]);
  }
}

const TOO_MANY = `it has more than ${MOST_VALUES} values, those behind aliases (*…) counted each time; is it the right file?`;

const unread = (problems: readonly Problem[]): ConfigDocument => ({
  tree: undefined,
  problems,
  locate: () => ({ line: 1, written: undefined }),
});

/** All texts of a tree, with their paths. */
export function* textsIn(value: Json | undefined, path: Path = []): Generator<{ path: Path; text: string }> {
  if (typeof value === "string") yield { path, text: value };
  else if (Array.isArray(value)) {
    for (const [index, item] of value.entries()) yield* textsIn(item, [...path, index]);
  } else if (isJsonObject(value)) {
    for (const [key, item] of Object.entries(value)) yield* textsIn(item, [...path, key]);
  }
}

/**
 * The node that each alias stands for, found in one pass: the library's own look-up visits the document for each alias.
 */
function targetsOf(yaml: Document): ReadonlyMap<Alias, Node> {
  const anchors = new Map<string, Node>();
  const targets = new Map<Alias, Node>();
  visit(yaml, (_, node) => {
    const target = isAlias(node) ? anchors.get(node.source) : undefined;
    if (isAlias(node) && target) targets.set(node, target);
    if ((isScalar(node) || isCollection(node)) && node.anchor !== undefined) anchors.set(node.anchor, node);
  });
  return targets;
}

/**
 * Turns nodes into data. It follows each alias where the alias stands, and not once as the library's visitor does,
 * because a value's meaning (see `keepsMeaning`), its problems and its location depend on the path.
 */
class Reader {
  readonly problems: Problem[] = [];
  readonly #locations = new Map<string, Location>();
  readonly #targets: ReadonlyMap<Alias, Node>;
  readonly #lines: LineCounter;
  readonly #sources: ValueSources;
  #values = 0;

  constructor(targets: ReadonlyMap<Alias, Node>, lines: LineCounter, sources: ValueSources) {
    this.#targets = targets;
    this.#lines = lines;
    this.#sources = sources;
  }

  readonly locate = (path: Path): Location => {
    const location = this.#locations.get(keyOf(path));
    if (location !== undefined) return location;
    return { line: path.length === 0 ? 1 : this.locate(path.slice(0, -1)).line, written: undefined };
  };

  /** `line` is the line of the value's key; `around` are the nodes that hold the value. */
  read(node: unknown, path: Path, line: number, around: readonly unknown[]): Json {
    if (++this.#values > MOST_VALUES) throw new Excessive(TOO_MANY);
    if (around.length > DEEPEST) throw new Excessive(TOO_DEEP);
    const target = isAlias(node) ? this.#target(node, path, line, around) : node;
    if (isNode(target) && target.tag !== undefined && !target.tag.startsWith("tag:yaml.org,2002:")) {
      this.#problem(path, line, "a tag (!…) means nothing here; put text that starts with ! in quotes");
    }
    const value = this.#value(target, path, line, [...around, target]);
    // Set the location last, to replace those of merged maps (<<), which are read under the same path.
    this.#locations.set(keyOf(path), { line, written: writtenIn(target) });
    return value;
  }

  #value(node: unknown, path: Path, line: number, around: readonly unknown[]): Json {
    if (isMap(node)) return this.#map(node, path, around);
    if (isSeq(node)) {
      return node.items.map((item, index) =>
        this.read(item, [...path, index], this.#lineOf(item, line), around),
      );
    }
    return isScalar(node) ? this.#scalar(node, path, line) : null;
  }

  #map(map: YAMLMap, path: Path, around: readonly unknown[]): JsonObject {
    const merged: JsonObject[] = [];
    const own = new Map<string, { readonly node: unknown; readonly line: number }>();
    for (const { key: keyNode, value: node } of map.items) {
      const line = this.#lineOf(keyNode, 1);
      const key = isScalar(keyNode) ? textOf(keyNode) : undefined;
      const first = own.get(key ?? "");
      if (key === undefined) {
        this.#problem(path, line, `a key must be text; a template needs quotes: "{{ column }}"`);
      } else if (key === "__proto__") {
        this.#problem([...path, key], line, "this name cannot be used; choose another");
      } else if (key === "<<") {
        merged.push(...this.#merge(node, path, line, around));
      } else if (first !== undefined) {
        this.#problem([...path, key], line, `is already there on line ${first.line}; keep one of the two`);
      } else {
        own.set(key, { node, line });
      }
    }
    const entries = [...own].map(([key, { node, line }]): [string, Json] => [
      key,
      this.read(node, [...path, key], line, around),
    ]);
    // The map's own keys win over merged ones, and the first merged map over the next.
    return Object.fromEntries([...merged.toReversed().flatMap(Object.entries), ...entries]);
  }

  #merge(node: unknown, path: Path, line: number, around: readonly unknown[]): readonly JsonObject[] {
    const merged = [this.read(node, path, line, around)].flat();
    if (merged.every(isJsonObject)) return merged;
    this.#problem([...path, "<<"], line, "is not a map; merge one with <<: *anchor");
    return [];
  }

  #target(alias: Alias, path: Path, line: number, around: readonly unknown[]): unknown {
    const target = this.#targets.get(alias);
    if (target !== undefined && !around.includes(target)) return target;
    const wrong = target === undefined ? "names no anchor above it" : "stands inside of its own anchor";
    this.#problem(path, line, `an alias (*…) ${wrong}; put text that starts with * in quotes`);
    return null;
  }

  #scalar(scalar: Scalar, path: Path, line: number): Json {
    const { value, source } = scalar;
    if (typeof value === "string") {
      const { text, problems } = interpolate(value, this.#sources);
      for (const problem of problems) this.#problem(path, line, problem);
      return text;
    }
    if (typeof value === "number") {
      if (keepsMeaning(value, source, path)) return value;
      this.#problem(
        path,
        line,
        "as a number this would not keep the form it is written in; put it in quotes",
      );
      return null;
    }
    return typeof value === "boolean" ? value : null;
  }

  #problem(path: Path, line: number, message: string): void {
    this.problems.push({ path, line, message });
  }

  #lineOf(node: unknown, otherwise: number): number {
    return isNode(node) && node.range ? this.#lines.linePos(node.range[0]).line : otherwise;
  }
}

/**
 * Whether a number keeps its meaning. In `group` it becomes text: 007 would silently become 7, and a mapping could lead
 * to the wrong data. Elsewhere only an integer that was rounded loses its meaning.
 */
const keepsMeaning = (value: number, source: string | undefined, [section]: Path): boolean =>
  section === "group" ? String(value) === source : !Number.isInteger(value) || Number.isSafeInteger(value);

/** A key for the map of locations, the same for an index as a number and as text. */
const keyOf = (path: Path): string => JSON.stringify(path.map(String));

const writtenIn = (node: unknown): Location["written"] => {
  if (!isScalar(node)) return node === null ? null : undefined;
  const { value } = node;
  return typeof value === "string" || typeof value === "number" || typeof value === "boolean" ? value : null;
};

/** A key as it is written: `40` and `"40"` are one key, and `040` is another. */
const textOf = ({ value, source }: Scalar): string => (typeof value === "string" ? value : (source ?? ""));
