import type { Secret } from "../../core/secret.ts";
import type { Connections } from "./connections.ts";
import type { Dialect } from "./dialect.ts";

/** One database that can hold the ledger and the tokens. */
export interface Database extends Connections {
  readonly dialect: Dialect;
}

export interface DatabaseOptions {
  readonly url: Secret;
  /** Shown to whoever looks at the server's sessions. */
  readonly applicationName: string;
  readonly maxConnections: number;
}
