import type { Drift } from "../core/drift/drift.ts";
import type { FailureWithHint } from "../core/failure/sync-error.ts";
import type { AbsenceKind } from "../core/group/ledger-group.ts";
import type { Rejection, RememberedRejection } from "../core/group/rejections.ts";
import type { Delete } from "../core/plan/change.ts";
import type { Summary } from "../core/report/counts.ts";
import type { Served } from "./serve-tenant.ts";

/** What a run tells a log, a progress bar or a metric while it goes on. Never contains a secret. */
export type RunEvent =
  | { readonly kind: "started"; readonly run: string }
  | { readonly kind: "phase"; readonly phase: "reading" | "applying" }
  | Warning
  | {
      readonly kind: "planned";
      readonly changes: number;
      readonly unchanged: number;
      readonly missing: number;
    }
  /** Tokens that a store lacks are about to be restored. They are not among the planned changes. */
  | { readonly kind: "restoring"; readonly tokens: number }
  /** Tokens are about to be rotated. They are not among the planned changes. */
  | { readonly kind: "rotating"; readonly tokens: number }
  /** Removals are held: they wait for approval, or for a read of the source that can be trusted. */
  | {
      readonly kind: "held";
      readonly code: string;
      readonly message: string;
      readonly hint: string;
      readonly count: number;
      /** Null if no code approves them. */
      readonly approval: string | null;
    }
  /** A tenant is gone since this read, or its absence is of another kind than before. */
  | { readonly kind: "left"; readonly user_group_id: string; readonly absence: AbsenceKind }
  /** Rows are rejected since this read, or rejected no more. */
  | { readonly kind: "rejected"; readonly rejection: Rejection }
  | { readonly kind: "accepted"; readonly rejection: RememberedRejection }
  | {
      readonly kind: "retry";
      readonly user_group_id: string;
      readonly code: string;
      readonly message: string;
      readonly attempt: number;
      readonly waitMs: number;
    }
  | { readonly kind: "waiting"; readonly ms: number; readonly reason: string }
  /** Calls have been waiting for their turn for half a minute. Told every half minute as long as they do. */
  | { readonly kind: "queued"; readonly calls: number; readonly reason: string }
  | {
      readonly kind: "recorded";
      readonly user_group_id: string;
      readonly result: "created" | "adopted" | "updated" | "replaced";
      readonly unverified: boolean;
      readonly tokenFingerprint: string;
    }
  /** A new token could not be stored yet, and the old token is dead. */
  | {
      readonly kind: "unstored";
      readonly user_group_id: string;
      readonly code: string;
      readonly message: string;
      readonly hint: string | undefined;
      readonly waitMs: number;
    }
  | {
      readonly kind: "rotated";
      readonly user_group_id: string;
      /** Of the token that is live from now on. */
      readonly tokenFingerprint: string;
      /** Of the token that was live before; null if nobody knows it. */
      readonly formerTokenFingerprint: string | null;
    }
  /** A token was written to a store that lacked it. It came from another store or from the service. */
  | { readonly kind: "restored"; readonly user_group_id: string }
  /** A GET has found that somebody else had changed the group at the service. Another token is stored by now. */
  | {
      readonly kind: "drift";
      readonly user_group_id: string;
      readonly drift: Drift;
      /** Of the token that is live. */
      readonly tokenFingerprint: string;
      /** Of the token that the ledger knew. */
      readonly formerTokenFingerprint: string | null;
      /** The name in the service's answer. */
      readonly name: string;
    }
  /** Groups are about to be asked for again. They are not among the planned changes. */
  | { readonly kind: "refreshing"; readonly groups: number }
  /** The service still has the group as the ledger knows it, or has it so again. */
  | { readonly kind: "refreshed"; readonly user_group_id: string }
  | { readonly kind: "deleted"; readonly user_group_id: string; readonly absence: Delete["absence"] }
  | {
      readonly kind: "failed";
      readonly user_group_id: string;
      readonly code: string;
      readonly message: string;
    }
  /** The service has answered well. Told once for the answers of a minute, as the ledger records them. */
  | { readonly kind: "answered"; readonly at: Date }
  /** A single tenant was served between two full syncs or beside one, `ms` after it was noticed. */
  | { readonly kind: "served"; readonly user_group_id: string; readonly served: Served; readonly ms: number }
  /** The last event of a run, even if the run never had the lease. */
  | ({ readonly kind: "finished" } & RunSummary);

export interface Warning extends FailureWithHint {
  readonly kind: "warning";
  /** It is of a setting of a database or a role, so each run finds it again. */
  readonly isStanding?: true;
}

/** A run that has ended. `error` is why it did not reach its end, or why removals are held. */
export interface RunSummary extends Summary {
  readonly error: FailureWithHint | null;
}

export type Observe = (event: RunEvent) => void;
