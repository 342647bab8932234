import type { Lease } from "./lease.ts";

/** The ledger's tables as such. */
export interface SchemaReads {
  /** Identifies this ledger, with all its scopes, among all ledgers. Null if the tables are missing. */
  id(): Promise<string | null>;
  /** Rejects if `prepare` would, as far as that can be seen without a change. */
  inspect(): Promise<void>;
  /** For messages, such as `public.groupsync_*`; null if nobody can say where the tables would be. */
  ownTables(): Promise<string | null>;
  /** The scopes of which this ledger keeps anything, in order. A forgotten scope is none of them. */
  scopes(): Promise<readonly string[]>;
}

export interface LedgerSchema extends SchemaReads {
  /**
   * Creates missing tables. It leaves the tables of an older groupsync as they are: until `migrate`, only the lease in
   * them can be used. Rejects with LEDGER_TOO_NEW if a newer groupsync made the tables.
   */
  prepare(): Promise<void>;
  /**
   * Brings the tables of an older groupsync up to date. Only the lease's holder may do that, because the older groupsync
   * may still be running. Rejects with LEASE_LOST.
   */
  migrate(lease: Lease): Promise<void>;
}

export interface SchemaWrites {
  /**
   * Forgets everything that the ledger keeps of this scope, but for the newest run, which is the run that forgets it. The lease
   * stays too, because its epoch has to grow: otherwise a former holder that stood still could write again.
   */
  forgetScope(): Promise<void>;
}
