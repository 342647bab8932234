/** How the daemon notices changes between two full syncs: by the newest rows of a column, or by notifications. */
export type Feed = "column" | "channel";

/** What was noticed between two full syncs. */
export type Notice =
  /** This tenant may have changed. It may be new, unchanged, gone or rejected as well. */
  | { readonly kind: "tenant"; readonly user_group_id: string; readonly feed: Feed }
  /** Something changed, and nobody knows what: a full sync has to look. */
  | { readonly kind: "anything" };

export const ANYTHING: Notice = { kind: "anything" };

// Warnings of an index without which single tenants are looked up, or noticed, less often. `check` finds it beforehand.

export const LOOKUPS_NOT_INDEXED = {
  code: "LOOKUPS_NOT_INDEXED",
  message:
    "the database reads the whole source to look one tenant up, so groupsync looks single tenants up for no more than a tenth of the time",
  hint: "create an index on the column of group.id; a query must let the condition on its id through to the table's index",
};

/** Without a hint: the database knows which index would help. */
export const CHANGES_NOT_INDEXED = {
  code: "CHANGES_NOT_INDEXED",
  message:
    "the database reads the whole source to find the newest rows of source.changes.column, so groupsync asks for them less often",
};
