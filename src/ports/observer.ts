import type { AbsenceKind } from "../core/ledger-group.ts";
import type { Failure } from "../core/outcome.ts";
import type { Summary } from "../core/summary-text.ts";
import type { RejectedTenant } from "../core/tenant.ts";

/** What a run says of itself while it goes on: to a log, a progress bar, a metric. Never a secret. */
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
  /** So many tokens are missing in a store and are to be restored, beside the changes that were planned. */
  | { readonly kind: "restoring"; readonly tokens: number }
  /** So many tokens are to be rotated, likewise. */
  | { readonly kind: "rotating"; readonly tokens: number }
  /** Removals are not done: they wait for approval, or for better evidence. */
  | {
      readonly kind: "held";
      readonly code: string;
      readonly message: string;
      readonly hint: string;
      readonly count: number;
      /** Null where no code approves them. */
      readonly approval: string | null;
    }
  /** A tenant is gone since this read, or gone in another way. */
  | { readonly kind: "left"; readonly user_group_id: string; readonly absence: AbsenceKind }
  | { readonly kind: "rejected"; readonly tenant: RejectedTenant }
  /** A call's attempt failed and will be repeated. */
  | {
      readonly kind: "retry";
      readonly user_group_id: string;
      readonly code: string;
      readonly message: string;
      readonly attempt: number;
      readonly waitMs: number;
    }
  | { readonly kind: "waiting"; readonly ms: number; readonly reason: string }
  /** The outcome of one group is recorded. */
  | {
      readonly kind: "recorded";
      readonly user_group_id: string;
      readonly result: "created" | "adopted" | "updated" | "replaced";
      readonly unverified: boolean;
      readonly token: string;
    }
  /** A new token could not be stored yet, while the old one is dead. */
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
      /** Fingerprints: which token is live from now on, and which one was. */
      readonly token: string;
      readonly formerToken: string | null;
    }
  /** A token that a store lacked was written to it: from another, or as the service told it. */
  | { readonly kind: "restored"; readonly user_group_id: string }
  | { readonly kind: "deleted"; readonly user_group_id: string; readonly absence: AbsenceKind }
  | {
      readonly kind: "failed";
      readonly user_group_id: string;
      readonly code: string;
      readonly message: string;
    }
  /** Always the last one, also of a run that never had the lease. */
  | ({ readonly kind: "finished" } & RunSummary);

export interface Warning {
  readonly kind: "warning";
  readonly code: string;
  readonly message: string;
  readonly hint?: string;
}

/** A run that has ended, in short. `error` is why it did not reach its end, or why removals are held. */
export interface RunSummary extends Summary {
  readonly error: (Failure & { readonly hint?: string }) | null;
}

export type Observe = (event: RunEvent) => void;
