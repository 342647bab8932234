/**
 * Serves one tenant between two full syncs. Resolves once its token is stored or has failed. Resolves to `pending` after `waitMs`,
 * or once `signal` aborts; the tenant is served all the same then. With 0 it resolves as soon as the tenant is taken in. The
 * id may be any text of 1 to `MAX_ID_BYTES` bytes, also one that no row can have.
 */
export type ServeTenant = (user_group_id: string, waitMs: number, signal: AbortSignal) => Promise<Served>;

/** What became of one tenant. No message contains a secret. */
export type Served =
  | {
      readonly kind: "done";
      readonly outcome: "created" | "adopted" | "updated" | "replaced" | "restored" | "unchanged";
    }
  /** Not done yet. */
  | { readonly kind: "pending" }
  /** There is no such tenant. */
  | { readonly kind: "unknown" }
  /** The tenant is there, and something else has to happen before it can be served. */
  | {
      readonly kind: "conflict";
      readonly outcome: "rejected" | "held" | "waiting" | "outdated" | "not_ready";
      readonly code: string;
      readonly message: string;
    }
  /** A call or a database failed. It is tried again without being asked. */
  | { readonly kind: "failed"; readonly code: string; readonly message: string };
