import { printable, visible } from "../text/printable.ts";

/** Words with single blanks between them, such as a condition, or an address. */
const PLAIN = /^([A-Za-z_][\w.]*( [A-Za-z_][\w.]*)*|https?:\/\/[\w.:/-]*[\w/])$/;
/** Words that some readers of YAML take for something else than text. */
const NO_TEXT = /^(true|false|null|yes|no|on|off|y|n)$/i;

/** A key of the config. JSON leaves characters as they are that nobody sees, or that YAML refuses. */
export const yamlKey = (text: string): string =>
  PLAIN.test(text) && !NO_TEXT.test(text) ? text : visible(JSON.stringify(text));

/** A value of the config. The config replaces `${…}` in values, so a dollar of the text is doubled. */
export const yamlValue = (text: string): string => yamlKey(text.replaceAll("$", "$$$$"));

/** Lines of a comment. Names in it may have any character. */
export const yamlComment = (indent: string, ...lines: readonly string[]): readonly string[] =>
  lines.map((line) => `${indent}# ${printable(line, 1_000)}`);
