import { counted } from "../core/counted.ts";

/** The keys that lead to a value, outermost first; numbers count list items from 0. */
export type Path = readonly (string | number)[];

/** One thing that is wrong with a config file: where, what, and what would be right. */
export interface Problem {
  readonly line: number;
  /** Empty where it concerns the file as a whole. */
  readonly path: Path;
  readonly message: string;
}

/** More than these nobody reads: they are of one kind, or the file is not a config. */
const MOST_SHOWN = 100;

/** The problems as one text, in the order of the file. */
export function report(file: string, problems: readonly Problem[]): string {
  const shown = problems.toSorted((a, b) => a.line - b.line).slice(0, MOST_SHOWN);
  const width = String(shown.at(-1)?.line ?? "").length;
  const lines = shown.map(({ line, path, message }) => {
    const key = path.length === 0 ? "" : `${path.map(segment).join(".")}: `;
    return `  line ${String(line).padEnd(width)}  ${key}${message}`;
  });
  const more = problems.length - shown.length;
  return [
    `${file} has ${counted(problems.length, "problem")}:`,
    ...lines,
    ...(more > 0 ? [`  … and ${more} more`] : []),
  ].join("\n");
}

/** `api_key:abc` with its space forgotten is a key to YAML: nothing behind a colon is shown. */
const segment = (key: string | number): string => {
  const shown = String(key).replace(/:.*/s, ":…");
  return /^[\w-]+$/.test(shown) ? shown : JSON.stringify(shown);
};

export const startsWith = (path: Path, prefix: Path): boolean =>
  prefix.every((key, index) => index < path.length && String(path[index]) === String(key));
