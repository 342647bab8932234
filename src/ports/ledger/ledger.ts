import type { GroupReads, GroupWrites, JournalReads } from "./groups.ts";
import type { Lease, Leases } from "./lease.ts";
import type { Requests } from "./requests.ts";
import type {
  RejectionReads,
  RejectionWrites,
  RunReads,
  RunWrites,
  ScopeReads,
  ScopeWrites,
} from "./scope.ts";

/** groupsync's own tables. A ledger here is one scope of them: the `name` in the config. */
export interface Ledger extends LedgerView, Leases, Requests {
  /**
   * Creates the tables if they are missing. Rejects with LEDGER_TOO_NEW if a newer groupsync made the tables, with
   * LEDGER_OUTDATED if they are too old.
   */
  prepare(): Promise<void>;
  /**
   * One transaction. It commits only if the lease is still held at that moment. If the database rolls it back in favour
   * of another transaction, `body` runs again.
   * Rejects with LEASE_LOST, LEDGER_REWOUND or LEDGER_UNAVAILABLE.
   */
  write<T>(lease: Lease, body: (transaction: LedgerTransaction) => Promise<T>): Promise<T>;
}

/** What the ledger knows, for readers that change nothing. Missing tables read as an empty ledger. */
export interface LedgerView
  extends SchemaReads,
    ScopeReads,
    GroupReads,
    JournalReads,
    RunReads,
    RejectionReads {}

export interface LedgerTransaction
  extends SchemaWrites,
    ScopeWrites,
    GroupWrites,
    RunWrites,
    RejectionWrites {}

/** The ledger's tables as such. */
export interface SchemaReads {
  /** Rejects if `prepare` would, as far as that can be seen without a change. */
  inspect(): Promise<void>;
  tables(): Promise<OwnTables>;
}

export interface OwnTables {
  /** For messages, such as `public.groupsync_*`; null if nobody can say where the tables would be. */
  readonly place: string | null;
  /** The scopes of which the tables keep anything, in order. A forgotten scope is none of them. */
  readonly scopes: readonly string[];
}

export interface SchemaWrites {
  /**
   * Forgets everything that the ledger keeps of this scope, but for the newest run, which is the run that forgets it. The lease
   * stays too, because its epoch has to grow: otherwise a former holder that stood still could write again.
   */
  forgetScope(): Promise<void>;
}

/** A setting of a server by which a crash loses commits, and which a session can't change. */
export interface DurabilityRisk {
  /** As the server names it, with its value: `fsync = off`. */
  readonly setting: string;
  /** The value that takes the risk away. */
  readonly safe: string;
}
