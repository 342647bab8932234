import type { RejectedTenant } from "../core/tenant.ts";

/** What a run says of itself while it goes on: to a log, a progress bar, a metric. Never a secret. */
export type RunEvent =
  | { readonly kind: "started"; readonly run: string }
  | { readonly kind: "phase"; readonly phase: "reading" | "applying" }
  | { readonly kind: "warning"; readonly code: string; readonly message: string; readonly hint?: string }
  | {
      readonly kind: "planned";
      readonly changes: number;
      readonly unchanged: number;
      readonly missing: number;
    }
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
      readonly result: "created" | "adopted" | "updated";
      readonly unverified: boolean;
      readonly token: string;
    }
  | {
      readonly kind: "failed";
      readonly user_group_id: string;
      readonly code: string;
      readonly message: string;
    };

export type Observe = (event: RunEvent) => void;
