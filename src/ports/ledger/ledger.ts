import type { DeletionReads, DeletionWrites } from "./deletions.ts";
import type { GroupReads, GroupWrites } from "./groups.ts";
import type { Lease, Leases } from "./lease.ts";
import type { RefreshReads, RefreshWrites } from "./refresh.ts";
import type { RejectionReads, RejectionWrites } from "./rejections.ts";
import type { Requests, RequestWrites } from "./requests.ts";
import type { RotationReads, RotationWrites } from "./rotations.ts";
import type { RunReads, RunWrites } from "./runs.ts";
import type { LedgerSchema, SchemaReads, SchemaWrites } from "./schema.ts";
import type { ServiceReads, ServiceWrites } from "./service.ts";
import type { StatusReads } from "./status.ts";
import type { TokenReads, TokenWrites } from "./tokens.ts";

/** groupsync's own tables. A ledger here is one scope of them: the `name` in the config. */
export interface Ledger extends LedgerView, LedgerSchema, Leases, Requests {
  /**
   * One transaction. It commits only if the lease is still held at that moment. If the database rolls it back in favour
   * of another transaction, `body` runs again.
   * Rejects with LEASE_LOST or LEDGER_UNAVAILABLE.
   */
  write<T>(lease: Lease, body: (transaction: LedgerTransaction) => Promise<T>): Promise<T>;
}

/** What the ledger knows, for readers that change nothing. Missing tables read as an empty ledger. */
export interface LedgerView
  extends SchemaReads,
    ServiceReads,
    GroupReads,
    DeletionReads,
    RotationReads,
    RefreshReads,
    TokenReads,
    RunReads,
    RejectionReads,
    StatusReads {}

export interface LedgerTransaction
  extends SchemaWrites,
    ServiceWrites,
    GroupWrites,
    DeletionWrites,
    RotationWrites,
    RefreshWrites,
    TokenWrites,
    RunWrites,
    RejectionWrites,
    RequestWrites {
  /**
   * Throws PAUSED if this process has stood still for so long that the transaction may be over and another instance may
   * have the lease. Ask before a change elsewhere that only this transaction protects.
   */
  assertOpen(): void;
}
