import {
  type CST,
  type Document,
  type ErrorCode,
  isAlias,
  isMap,
  isNode,
  isPair,
  isScalar,
  isSeq,
  LineCounter,
  type Node,
  type Pair,
  Parser,
  parseDocument,
  Scalar,
  visit,
  type visitorFn,
  type YAMLError,
} from "yaml";
import type { Json } from "../core/text/json.ts";
import { interpolate, type ValueSources } from "./interpolate.ts";

/** The keys that lead to a value, outermost first; numbers count list items from 0. */
export type Path = readonly (string | number)[];

/**
 * One thing that is wrong with a config file: where, what, and what would be right. A message never has the value in it,
 * because any value may be a secret that stands in the wrong place.
 */
export interface Problem {
  readonly line: number;
  /** Empty for a problem of the whole file. */
  readonly path: Path;
  readonly message: string;
}

/** A config file as plain data, with the line of each value. */
export interface ConfigDocument {
  /** The data with every `${…}` replaced. Undefined if the text is not YAML. */
  readonly tree: Json | undefined;
  readonly problems: readonly Problem[];
  /** The line of a value's key. If there is none at this path, that of the innermost map or list around it. */
  readonly lineOf: (path: Path) => number;
}

/** Reads YAML text. Never throws: `problems` has everything that is wrong. */
export function readDocument(text: string, sources: ValueSources): ConfigDocument {
  if (isTooDeep(text)) return unread([{ line: 1, path: [], message: TOO_DEEP }]);
  const lines = new LineCounter();
  const yaml = parseDocument(text, { lineCounter: lines, prettyErrors: false, uniqueKeys: false });
  const broken = syntaxProblems(yaml.errors, text, lines);
  if (broken.length > 0) return unread(broken);
  const reader = new Reader(lines, sources);
  visit(yaml, reader.visitor);
  const tree: Json = yaml.toJS();
  return { tree, problems: reader.problems, lineOf: (path) => lineOf(path, yaml.contents, lines) };
}

/** Of maps and lists in each other. */
const DEEPEST = 32;

/**
 * Whether the text is nested too deeply. Ask before it is composed to a document, which calls itself for each level: near the end
 * of the stack, Node.js may die of a regular expression that it compiles there.
 */
function isTooDeep(text: string): boolean {
  let level: readonly CST.Token[] = [...new Parser().parse(text)];
  for (let depth = 0; depth <= DEEPEST + 1 && level.length > 0; depth++) level = level.flatMap(within);
  return level.length > 0;
}

/** The tokens in a token. */
function within(token: CST.Token): readonly CST.Token[] {
  if (token.type === "document") return token.value ? [token.value] : [];
  if (!("items" in token)) return [];
  return token.items.flatMap(({ key, value }) => [key, value].filter((part) => part != null));
}

const unread = (problems: readonly Problem[]): ConfigDocument => ({
  tree: undefined,
  problems,
  lineOf: () => 1,
});

type Ancestors = readonly (Document | Node | Pair)[];

/** Replaces every `${…}`, and finds what is YAML but means nothing, or something else, in a config. */
class Reader {
  readonly problems: Problem[] = [];
  readonly #lines: LineCounter;
  readonly #sources: ValueSources;

  constructor(lines: LineCounter, sources: ValueSources) {
    this.#lines = lines;
    this.#sources = sources;
  }

  readonly visitor: visitorFn<unknown> = (role, node, around) => {
    // The map around it has looked at a key.
    if (role === "key") return visit.SKIP;
    if (isAlias(node) || (isNode(node) && isMarked(node))) {
      this.#problem(node, around, MARK);
      return new Scalar(null);
    }
    if (isMap(node)) node.items = node.items.filter(this.#keyFilter(pathOf([...around, node])));
    else if (isScalar(node)) this.#scalar(node, around);
    return undefined;
  };

  /** Takes out what has no key of its own. */
  #keyFilter(path: Path): (pair: Pair) => boolean {
    const lineOfKey = new Map<string, number>();
    return ({ key: node }) => {
      const line = lineAt(node, this.#lines) ?? 1;
      const key = isScalar(node) ? textOf(node) : undefined;
      const problem = (message: string): false => {
        this.problems.push({ line, path: key === undefined ? path : [...path, key], message });
        return false;
      };
      if (key === undefined) return problem(`a key must be text; a template needs quotes: "{{ column }}"`);
      if (key === "__proto__") return problem("this name cannot be used; choose another");
      const earlier = lineOfKey.get(key);
      if (earlier !== undefined) return problem(`is already there on line ${earlier}; keep one of the two`);
      lineOfKey.set(key, line);
      if (isScalar(node)) node.value = key;
      return true;
    };
  }

  #scalar(scalar: Scalar, around: Ancestors): void {
    const { value } = scalar;
    if (typeof value === "string") {
      const { text, problems } = interpolate(value, this.#sources);
      for (const message of problems) this.#problem(scalar, around, message);
      scalar.value = text;
    } else if (typeof value === "number" && !keepsMeaning(scalar, value, around)) {
      const message = "as a number this would not keep the form it is written in; put it in quotes";
      this.#problem(scalar, around, message);
      scalar.value = null;
    }
  }

  /** `around` is what holds the node. A value's line is that of its key. */
  #problem(node: unknown, around: Ancestors, message: string): void {
    const parent = around.at(-1);
    const line = lineAt(isPair(parent) ? parent.key : node, this.#lines) ?? 1;
    this.problems.push({ line, path: pathOf([...around, node]), message });
  }
}

const MARK =
  "a tag (!…), an anchor (&…) and an alias (*…) mean nothing here; write the value out, or put text that starts so in quotes";

/** Whether the node has a tag, beside those that YAML itself gives, or an anchor. */
const isMarked = (node: Node): boolean =>
  ("anchor" in node && node.anchor !== undefined) ||
  (node.tag !== undefined && !node.tag.startsWith("tag:yaml.org,2002:"));

/** The line of a value's key. If there is none at the path, that of the innermost map or list around it. */
function lineOf(path: Path, root: unknown, lines: LineCounter): number {
  let line = 1;
  let node = root;
  for (const step of path) {
    const pair = isMap(node)
      ? node.items.find(({ key }) => isScalar(key) && key.value === String(step))
      : undefined;
    const item = isSeq(node) ? node.items[Number(step)] : undefined;
    if (pair === undefined && item === undefined) return line;
    line = lineAt(pair?.key ?? item, lines) ?? line;
    node = pair?.value ?? item;
  }
  return line;
}

/**
 * Whether a number keeps its meaning. In `group` it becomes text: 007 would silently become 7, and a mapping could lead
 * to the wrong data. Elsewhere only an integer that was rounded loses its meaning.
 */
const keepsMeaning = ({ source }: Scalar, value: number, around: Ancestors): boolean =>
  pathOf(around)[0] === "group"
    ? String(value) === source
    : !Number.isInteger(value) || Number.isSafeInteger(value);

/** A key as it is written: `40` and `"40"` are one key, and `040` is another. */
const textOf = ({ value, source }: Scalar): string => (typeof value === "string" ? value : (source ?? ""));

/** The keys and indices that lead to the last of these nodes, each of which holds the next. */
const pathOf = (nodes: readonly unknown[]): Path =>
  nodes.flatMap((node, index) => {
    const parent = nodes[index - 1];
    if (isPair(node)) return isScalar(node.key) ? textOf(node.key) : [];
    return isSeq(parent) ? parent.items.indexOf(node) : [];
  });

const lineAt = (node: unknown, lines: LineCounter): number | undefined =>
  isNode(node) && node.range ? lines.linePos(node.range[0]).line : undefined;

const TOO_DEEP = "this is nested too deeply for a config; is a bracket not closed?";

/** Our own messages, because those of the parser quote the text around an error, which may be a password. */
const SYNTAX: Partial<Record<ErrorCode, string>> = {
  BAD_INDENT: "the indentation does not fit, or a bracket or quote above is not closed",
  BAD_SCALAR_START: "a value cannot start with this character; put it in quotes",
  BLOCK_AS_IMPLICIT_KEY: "there is a second “: ” in the line; put the value in quotes",
  MISSING_CHAR: "something is not closed: add the missing quote, bracket, comma or colon",
  MULTIPLE_DOCS: "a second document starts here; a config is one document: remove the line ---",
  RESOURCE_EXHAUSTION: TOO_DEEP,
  TAB_AS_INDENT: "a tab is used as indentation; use spaces",
};

/** At most one problem a line. Of unexpected tokens only the first counts, because it makes later ones look wrong. */
function syntaxProblems(errors: readonly YAMLError[], text: string, lines: LineCounter): readonly Problem[] {
  const source = text.split("\n");
  const problems = new Map<number, Problem>();
  const firstUnexpected = errors.find(({ code }) => code === "UNEXPECTED_TOKEN");
  for (const error of errors) {
    const { code, pos } = error;
    const { line } = lines.linePos(pos[0]);
    if (problems.has(line) || (code === "UNEXPECTED_TOKEN" && error !== firstUnexpected)) continue;
    const braces = /\$\{|\{\{/.test(source[line - 1] ?? "");
    const message = braces
      ? `this is not YAML; put a value with braces in it in quotes: "\${NAME}", "{{ column }}"`
      : (SYNTAX[code] ?? "this is not YAML; is a quote, a colon or a space missing?");
    problems.set(line, { line, path: [], message });
  }
  return [...problems.values()];
}
