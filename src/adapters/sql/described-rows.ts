import type { Cell } from "../../core/tenant.ts";

/** Turns the text of a value into a cell. */
export type Parse = (text: string) => Cell;

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
