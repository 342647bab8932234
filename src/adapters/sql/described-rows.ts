import { describe } from "../../core/errors.ts";
import { parseJson } from "../../core/json.ts";
import { type Cell, Unusable } from "../../core/tenant.ts";

/** Turns the text of a value into a cell. */
export type Parse = (text: string) => Cell;

/** A database may accept what is not JSON: MariaDB does. */
export const json: Parse = (text) => {
  try {
    return parseJson(text);
  } catch {
    return new Unusable("holds text that is not JSON");
  }
};

/** The cells of one row. Never throws: a value that its parser fails on costs this row, and not the read. */
export const cellsOf = (texts: readonly unknown[], parsers: readonly Parse[]): Cell[] =>
  parsers.map((parse, index) => {
    const text = texts[index];
    if (typeof text !== "string") return null;
    try {
      return parse(text);
    } catch (error) {
      return new Unusable(`holds a value that can't be read: ${describe(error)}`);
    }
  });

/** The source's rows as SQL, and how their values become cells. */
export interface DescribedRows {
  readonly relation: string;
  /** Predicates that are true of every row that counts. */
  readonly conditions: readonly string[];
  /** True of rows whose tenants are gone, and otherwise false, never null; undefined where no row can say so. */
  readonly removed: string | undefined;
  /** The columns, the id first, each as its parser takes it. */
  readonly selected: readonly string[];
  readonly parsers: readonly Parse[];
  /** Orders by the UTF-8 bytes of the id, and puts rows without one last. */
  readonly order: string;
  readonly bucket: string;
  /** A signed 64-bit integer. */
  readonly digest: string;
}
