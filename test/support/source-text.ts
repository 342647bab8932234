/** A source file cut into what runs and what is only text, so that rules about code aren't fooled by prose. */
export interface SourceText {
  /** The code without comments and template text; a string literal is `"N"`, its place in `strings`. */
  readonly code: string;
  readonly strings: readonly string[];
  /** The text of the templates, without what is in `${…}`. */
  readonly templates: readonly string[];
}

const PLAIN = /[\s\w$#]+/y;
const LINE_COMMENT = /\/\/.*/y;
const BLOCK_COMMENT = /\/\*.*?\*\//sy;
const STRING = /(["'])((?:\\.|(?!\1).)*)\1/sy;
const TEMPLATE_TEXT = /(?:\\.|\$(?!\{)|[^\\$`])*(`|\$\{)/sy;
const REGEX = /\/(?:\\.|\[(?:\\.|[^\]\\\n])*\]|[^/\\[\n])+\/[a-z]*/y;

/** A slash after one of these starts a regular expression; after anything else it divides. */
const BEFORE_REGEX = /(?:^|[(,=:[!&|?{};+\-*%~^<>]|\b(?:return|typeof|case|in|of|await|yield))\s*$/;

/** Takes TypeScript apart just far enough to tell code from strings and comments. */
export function readSource(source: string): SourceText {
  const strings: string[] = [];
  const templates: string[] = [];
  let code = "";
  let at = 0;

  const take = (pattern: RegExp): RegExpExecArray | null => {
    pattern.lastIndex = at;
    const match = pattern.exec(source);
    if (match) at = pattern.lastIndex;
    return match;
  };
  const startsRegex = (): boolean => source[at] === "/" && BEFORE_REGEX.test(code.slice(-100));

  /** Up to the brace that closes the block or the `${…}` it was called in. */
  const readBlock = (): void => {
    while (at < source.length) {
      if (take(LINE_COMMENT) ?? take(BLOCK_COMMENT)) continue;
      const string = take(STRING);
      if (string) {
        code += `"${strings.length}"`;
        strings.push(string[2] ?? "");
        continue;
      }
      if (startsRegex() && take(REGEX)) {
        code += "/ /";
        continue;
      }
      const text = take(PLAIN)?.[0] ?? source.charAt(at++);
      code += text;
      if (text === "{") readBlock();
      if (text === "}") return;
      if (text === "`") readTemplate();
    }
  };
  const readTemplate = (): void => {
    for (let text = take(TEMPLATE_TEXT); text; text = take(TEMPLATE_TEXT)) {
      templates.push(text[0].slice(0, -(text[1]?.length ?? 0)));
      if (text[1] !== "${") break;
      code += "${";
      readBlock();
    }
    code += "`";
  };

  while (at < source.length) readBlock();
  return { code, strings, templates };
}

/**
 * What a file imports: `import … from`, `export … from` and `import "…"`, types included, and `import("…")`.
 * Undefined stands for an `import()` of something that only a run can know.
 */
export function importsOf({ code, strings }: SourceText): (string | undefined)[] {
  const found = code.matchAll(/\bfrom\s*"(\d+)"|\bimport\s*"(\d+)"|\bimport\s*\(\s*(?:"(\d+)")?/g);
  return [...found].map((match) => {
    const place = match[1] ?? match[2] ?? match[3];
    return place === undefined ? undefined : strings[Number(place)];
  });
}

/** What has to be loaded before the file can run: neither types nor what it imports when it gets that far. */
export function neededBy({ code, strings }: SourceText): string[] {
  const found = code.matchAll(/\b(?:import|export)\s+(?!type\b)[^;"]*?\bfrom\s*"(\d+)"|\bimport\s*"(\d+)"/g);
  return [...found].map(([, from, bare]) => strings[Number(from ?? bare)] ?? "");
}
