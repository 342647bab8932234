/** Text from outside, safe on a terminal: control characters are shown as escapes, long text is cut. */
export function printable(text: string, maxLength = 200): string {
  const shown = text.replace(/[\p{Cc}\p{Cf}\u2028\u2029]/gu, (char) =>
    JSON.stringify(char)
      .slice(1, -1)
      .replace(/^[^\\]$/u, escaped),
  );
  if (shown.length <= maxLength) return shown;
  // Half of a surrogate pair is no character.
  return `${shown.slice(0, maxLength - 1).replace(/[\ud800-\udbff]$/, "")}…`;
}

const escaped = (char: string): string => `\\u{${char.codePointAt(0)?.toString(16)}}`;

/** An id as people read it in a list. */
export const printableId = (id: string | null): string =>
  id === null ? "(a row without an id)" : printable(id);
