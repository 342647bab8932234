/** Characters that are invisible, or that reorder the text around them. */
const UNSEEN = "\\p{Cf}\\p{Default_Ignorable_Code_Point}\\u2028\\u2029\\u2800\\ufffe\\uffff";
/** What is printed keeps variation selectors: the names of tenants have them, in emoji such as ❤️ and in Japanese. */
const IN_PRINT = "(?!\\p{Variation_Selector})";
const HIDDEN = new RegExp(`[\\p{Cc}${UNSEEN}]`, "u");
const UNSEEN_OR_CONTROL = new RegExp(`${IN_PRINT}[\\p{Cc}${UNSEEN}]`, "gu");
const UNSEEN_OR_HIGH_CONTROL = new RegExp(`${IN_PRINT}[\\u007f-\\u009f${UNSEEN}]`, "gu");

/** Whether text has a character that nobody sees: a control character, an invisible one, or one that reorders text. */
export const hidesCharacters = (text: string): boolean => HIDDEN.test(text);

/** Makes text from outside safe on a terminal: shows control characters as escapes, and cuts long text. */
export function printable(text: string, maxLength = 200): string {
  const shown = text.replace(UNSEEN_OR_CONTROL, (char) =>
    JSON.stringify(char)
      .slice(1, -1)
      .replace(/^[^\\]$/u, escaped),
  );
  if (shown.length <= maxLength) return shown;
  // Don't leave half of a surrogate pair at the end.
  return `${shown.slice(0, maxLength - 1).replace(/[\ud800-\udbff]$/, "")}…`;
}

/**
 * The last step for all output to an operator, text or JSON: shows invisible characters as `\uXXXX`, which means the same
 * in JSON. Line ends and colours stay.
 */
export const visible = (output: string): string =>
  output.replace(UNSEEN_OR_HIGH_CONTROL, (char) =>
    Array.from({ length: char.length }, (_, at) => `\\u${hex(char.charCodeAt(at))}`).join(""),
  );

const hex = (unit: number): string => unit.toString(16).padStart(4, "0");

const escaped = (char: string): string => `\\u{${char.codePointAt(0)?.toString(16)}}`;

/** An id as shown in a list. Quotes it if it begins or ends with a blank, which nobody would see. */
export function printableId(id: string | null, maxLength?: number): string {
  if (id === null) return "(a row without an id)";
  const shown = printable(id, maxLength);
  return id.trim() === id ? shown : `"${shown}"`;
}

/** An id as one word of a shell command, which an operator can copy. Shows control characters as escapes, as bash reads them. */
export function shellWord(id: string): string {
  if (/^[\w.@%+=:,/][\w.@%+=:,/-]*$/.test(id)) return id;
  if (id.replace(UNSEEN_OR_CONTROL, "") === id) return shellQuoted(id);
  const escaped = id.replace(/[\\']/g, "\\$&").replace(UNSEEN_OR_CONTROL, bytesOf);
  return `$'${escaped}'`;
}

const bytesOf = (char: string): string =>
  [...Buffer.from(char)].map((byte) => `\\x${byte.toString(16).padStart(2, "0")}`).join("");

/** Quotes any text as one word of a shell command, which an operator can copy. */
export const shellQuoted = (text: string): string => `'${text.replaceAll("'", "'\\''")}'`;

export const DEFAULT_CONFIG = "./config.yaml";

const COMMAND = /\bgroupsync (?=(?:check|explain|forget|plan|probe|rotate|run|status|sync)\b)/g;

/** Text with the config file to work by in each command, `groupsync sync …`. A statement for a database stays as it is. */
export function withConfig(text: string, configPath: string): string {
  if (configPath === DEFAULT_CONFIG) return text;
  return text.replace(COMMAND, () => `groupsync --config ${shellWord(configPath)} `);
}

/** Words for people, with times in between. Whoever shows them writes every time in the same way. */
export type TimedText = string | readonly (string | Date)[];

/** With times in ISO 8601. */
export const plainText = (text: TimedText): string =>
  typeof text === "string"
    ? text
    : text.map((part) => (typeof part === "string" ? part : part.toISOString())).join("");

/** A message as a sentence: with a capital letter and an end. Empty if the message is. */
export const asSentence = (text: string): string =>
  text === "" ? "" : `${text[0]?.toUpperCase()}${text.slice(1)}${/[.?!…]$/.test(text) ? "" : "."}`;
