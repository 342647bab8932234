/** How the daemon notices changes between two full syncs: by the newest rows of a column, or by notifications. */
export type Feed = "column" | "channel";

/** What was noticed between two full syncs. */
export type Notice =
  /** This tenant may have changed. It may be new, unchanged, gone or rejected as well. */
  | { readonly kind: "tenant"; readonly user_group_id: string; readonly feed: Feed }
  /** Something changed, and nobody knows what: a full sync has to look. */
  | { readonly kind: "anything" };

export const ANYTHING: Notice = { kind: "anything" };
