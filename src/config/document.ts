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
import { isJsonObject, type Json, type JsonObject } from "../core/json.ts";
import { interpolate, type ValueSources } from "./interpolate.ts";
import type { Path, Problem } from "./problems.ts";
import { syntaxProblems, TOO_DEEP } from "./syntax.ts";

/** A config file as plain data that still knows where each value stands. */
export interface ConfigDocument {
  /** With every `${…}` replaced. Undefined where the text is not YAML. */
  readonly tree: Json | undefined;
  readonly problems: readonly Problem[];
  /** Where the value stands, or the innermost of its parents where there is no such value. */
  readonly find: (path: Path) => Place;
}

export interface Place {
  readonly line: number;
  /** A scalar as the file has it, before anything was replaced; undefined for a map, a list and what isn't there. */
  readonly written: string | number | boolean | null | undefined;
}

/** A config has a dozen levels at most, and a few values a line; a nest of aliases has any number of them. */
const DEEPEST = 64;
const MOST_VALUES = 50_000;

/** The text is no config of any size: it isn't read to its end. */
class Excessive extends Error {}

/** Reads YAML text. Never throws: whatever is wrong is among the problems. */
export function readDocument(text: string, sources: ValueSources): ConfigDocument {
  const lines = new LineCounter();
  try {
    const yaml = parseDocument(text, { lineCounter: lines, prettyErrors: false, uniqueKeys: false });
    const broken = syntaxProblems(yaml.errors, text, lines);
    if (broken.length > 0) return unread(broken);
    const reader = new Reader(targetsOf(yaml), lines, sources);
    const tree = reader.read(yaml.contents, [], 1, []);
    return { tree, problems: reader.problems, find: reader.find };
  } catch (error) {
    if (!(error instanceof Excessive)) throw error;
    return unread([{ line: 1, path: [], message: error.message }]);
  }
}

const TOO_MANY = `it has more than ${MOST_VALUES} values, those behind aliases (*…) counted each time; is it the right file?`;

const unread = (problems: readonly Problem[]): ConfigDocument => ({
  tree: undefined,
  problems,
  find: () => ({ line: 1, written: undefined }),
});

/** What each alias stands for. (The library's own look-up goes through the whole document for each of them.) */
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

class Reader {
  readonly problems: Problem[] = [];
  readonly #places = new Map<string, Place>();
  readonly #targets: ReadonlyMap<Alias, Node>;
  readonly #lines: LineCounter;
  readonly #sources: ValueSources;
  #values = 0;

  constructor(targets: ReadonlyMap<Alias, Node>, lines: LineCounter, sources: ValueSources) {
    this.#targets = targets;
    this.#lines = lines;
    this.#sources = sources;
  }

  readonly find = (path: Path): Place => {
    const place = this.#places.get(placeOf(path));
    if (place !== undefined) return place;
    return { line: path.length === 0 ? 1 : this.find(path.slice(0, -1)).line, written: undefined };
  };

  /** `line` is where the value's key stands; `around` are the nodes that the value is in. */
  read(node: unknown, path: Path, line: number, around: readonly unknown[]): Json {
    if (++this.#values > MOST_VALUES) throw new Excessive(TOO_MANY);
    if (around.length > DEEPEST) throw new Excessive(TOO_DEEP);
    const target = isAlias(node) ? this.#target(node, path, line, around) : node;
    if (isNode(target) && target.tag !== undefined && !target.tag.startsWith("tag:yaml.org,2002:")) {
      this.#problem(path, line, "a tag (!…) means nothing here; put text that starts with ! in quotes");
    }
    const value = this.#value(target, path, line, [...around, target]);
    // Set last: what a merge (<<) reads under the same path must not stay.
    this.#places.set(placeOf(path), { line, written: writtenIn(target) });
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
      if (isMeant(value, source, path)) return value;
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
 * In `group` a number may become text: 007, 1.0 and 1e1 would silently be others there, and a mapping lead to the wrong
 * data. Elsewhere a number counts for what it is, unless it was rounded.
 */
const isMeant = (value: number, source: string | undefined, [section]: Path): boolean =>
  section === "group" ? String(value) === source : !Number.isInteger(value) || Number.isSafeInteger(value);

/** The number of a list's entry may come as text. */
const placeOf = (path: Path): string => JSON.stringify(path.map(String));

const writtenIn = (node: unknown): Place["written"] => {
  if (!isScalar(node)) return node === null ? null : undefined;
  const { value } = node;
  return typeof value === "string" || typeof value === "number" || typeof value === "boolean" ? value : null;
};

/** `40` and `"40"` are one key, and `040` is another: what counts is what stands there. */
const textOf = ({ value, source }: Scalar): string => (typeof value === "string" ? value : (source ?? ""));
