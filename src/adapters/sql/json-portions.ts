/** In UTF-16 code units. MariaDB refuses statements beyond 16 MB, and text grows when it is quoted, up to fourfold. */
const PORTION = 1_000_000;

/** The rows as JSON arrays, each small enough for one statement; a row that is larger has one for itself. */
export function* jsonPortions(rows: Iterable<object>): Generator<string> {
  let portion: string[] = [];
  let size = 0;
  for (const row of rows) {
    const text = JSON.stringify(row);
    if (portion.length > 0 && size + text.length > PORTION) {
      yield `[${portion.join(",")}]`;
      portion = [];
      size = 0;
    }
    portion.push(text);
    size += text.length;
  }
  if (portion.length > 0) yield `[${portion.join(",")}]`;
}
