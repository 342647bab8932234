import type { Connections } from "../connection/connections.ts";
import type { SessionOptions } from "../connection/session-waits.ts";
import { SHORT_READ } from "../connection/wait-limits.ts";
import type { Dialect } from "./dialect.ts";

/** One database that can hold the ledger and the tokens. */
export interface Database extends Connections {
  readonly dialect: Dialect;
}

/** Opens a transaction as a write does. Rejects if the server takes no writes, as a standby does. */
export const insistOnWrites = (database: Database): Promise<void> =>
  database.transaction(database.dialect.begin.write, async () => {}, SHORT_READ);

export interface DatabaseOptions extends SessionOptions {
  readonly maxConnections: number;
  /** After how many idle milliseconds the server ends a transaction. MySQL rounds up to seconds. */
  readonly idleMs: number;
}
