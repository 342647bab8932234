import type { Connections } from "./connections.ts";
import type { Dialect } from "./dialect.ts";

/** One database that can hold the ledger and the tokens. */
export interface Database extends Connections {
  readonly dialect: Dialect;
}
