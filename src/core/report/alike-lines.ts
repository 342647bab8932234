/** How many lines that are alike an output has in full. */
export const MOST_IN_FULL = 10;

/** Counts lines that are alike, so that a thousand tenants with one problem don't bury what else there is to read. */
export class AlikeLines<Line> {
  readonly #kinds = new Map<string, { readonly line: Line; count: number }>();

  /** Returns whether to write the line. If not, it is only counted. */
  add(kind: string, line: Line): boolean {
    const known = this.#kinds.get(kind) ?? { line, count: 0 };
    this.#kinds.set(kind, known);
    known.count++;
    return known.count <= MOST_IN_FULL;
  }

  /** Begins to count anew. Returns the number of lines of each kind that was only counted in the end, and its first line. */
  restart(): { readonly line: Line; readonly count: number }[] {
    const summed = [...this.#kinds.values()].filter(({ count }) => count > MOST_IN_FULL);
    this.#kinds.clear();
    return summed;
  }
}
