import { printable } from "../text/printable.ts";

/** Lines of a comment in SQL. Names in it may have any character. */
export const sqlComment = (...lines: readonly string[]): readonly string[] =>
  lines.map((line) => `-- ${printable(line, 1_000)}`);
