/** Characters that are invisible, or reorder the text around them. */
const UNSEEN = "\\p{Cf}\\u2028\\u2029\\u115f\\u1160\\u3164\\uffa0";
const UNSEEN_OR_CONTROL = new RegExp(`[\\p{Cc}${UNSEEN}]`, "gu");
const UNSEEN_OR_HIGH_CONTROL = new RegExp(`[\\u007f-\\u009f${UNSEEN}]`, "gu");

/** Text from outside, safe on a terminal: control characters are shown as escapes, long text is cut. */
export function printable(text: string, maxLength = 200): string {
  const shown = text.replace(UNSEEN_OR_CONTROL, (char) =>
    JSON.stringify(char)
      .slice(1, -1)
      .replace(/^[^\\]$/u, escaped),
  );
  if (shown.length <= maxLength) return shown;
  // Half of a surrogate pair is no character.
  return `${shown.slice(0, maxLength - 1).replace(/[\ud800-\udbff]$/, "")}…`;
}

/**
 * The last thing that is done to whatever leaves this process for an operator, be it lines of text or JSON: characters
 * that nobody would see are shown as `\uXXXX`, which means the same in JSON. Line ends and colours stay.
 */
export const visible = (output: string): string =>
  output.replace(UNSEEN_OR_HIGH_CONTROL, (char) =>
    Array.from({ length: char.length }, (_, at) => `\\u${hex(char.charCodeAt(at))}`).join(""),
  );

const hex = (unit: number): string => unit.toString(16).padStart(4, "0");

const escaped = (char: string): string => `\\u{${char.codePointAt(0)?.toString(16)}}`;

/** An id as people read it in a list. */
export const printableId = (id: string | null): string =>
  id === null ? "(a row without an id)" : printable(id);
