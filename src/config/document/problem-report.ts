import { quantity } from "../../core/text/quantity.ts";

/** The keys that lead to a value, outermost first; numbers count list items from 0. */
export type Path = readonly (string | number)[];

/** One thing that is wrong with a config file: where, what, and what would be right. */
export interface Problem {
  readonly line: number;
  /** Empty for a problem of the whole file. */
  readonly path: Path;
  readonly message: string;
}

/** Nobody reads more. If there are more, they are all of the same kind, or the file isn't a config. */
const MOST_SHOWN = 100;

/** The problems as one text, in the order of the file. */
export function problemReport(file: string, problems: readonly Problem[]): string {
  const shown = problems.toSorted((a, b) => a.line - b.line).slice(0, MOST_SHOWN);
  const width = String(shown.at(-1)?.line ?? "").length;
  const lines = shown.map(({ line, path, message }) => {
    const key = path.length === 0 ? "" : `${path.map(segment).join(".")}: `;
    return `  line ${String(line).padEnd(width)}  ${key}${message}`;
  });
  const more = problems.length - shown.length;
  return [
    `${file} has ${quantity(problems.length, "problem")}:`,
    ...lines,
    ...(more > 0 ? [`  … and ${more} more`] : []),
  ].join("\n");
}

/** Hides what follows a colon, because `api_key:abc`, which lacks a space, is a key to YAML. */
const segment = (key: string | number): string => {
  const shown = String(key).replace(/:.*/s, ":…");
  return /^[\w-]+$/.test(shown) ? shown : JSON.stringify(shown);
};

export const startsWith = (path: Path, prefix: Path): boolean =>
  prefix.every((key, index) => index < path.length && String(path[index]) === String(key));
