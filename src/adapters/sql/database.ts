import type { Secret } from "../../core/secret.ts";
import type { Patience } from "./attendance.ts";
import type { Connections } from "./connections.ts";
import type { Dialect } from "./dialect.ts";

/** One database that can hold the ledger and the tokens. */
export interface Database extends Connections {
  readonly dialect: Dialect;
  /** How many connections have broken so far. */
  readonly broken: number;
}

export interface DatabaseOptions {
  readonly url: Secret;
  /** Shown to whoever looks at the server's sessions. */
  readonly applicationName: string;
  readonly maxConnections: number;
  /** The server ends a transaction of a process that stands still for so long, in milliseconds; MySQL goes by seconds. */
  readonly idleMs: number;
  readonly patience: Patience;
  /** Aborted when this process is told to stop. */
  readonly stop: AbortSignal;
}
