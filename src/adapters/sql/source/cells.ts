import { describe } from "../../../core/failure/sync-error.ts";
import { type Cell, Unusable } from "../../../core/group/tenant.ts";
import { parseJson } from "../../../core/text/json.ts";

/** Turns the text of a value into a cell. */
export type CellParser = (text: string) => Cell;

export const asText: CellParser = (text) => text;

/** A database may store what is not JSON in a JSON column: MariaDB does. */
export const parseJsonCell: CellParser = (text) => {
  try {
    return parseJson(text);
  } catch {
    return new Unusable("holds text that is not JSON");
  }
};

/** The cells of one row. Never throws: a value that can't be parsed makes its own cell unusable, and nothing else. */
export const parseCells = (texts: readonly unknown[], parsers: readonly CellParser[]): Cell[] =>
  parsers.map((parse, index) => {
    const text = texts[index];
    if (typeof text !== "string") return null;
    try {
      return parse(text);
    } catch (error) {
      return new Unusable(`holds a value that can't be read: ${describe(error)}`);
    }
  });
