/** What keeps single tenants from being noticed or served soon. The daemon warns of it, and `check` finds it beforehand. */
interface Trouble {
  readonly code: string;
  readonly message: string;
}

export const LOOKS_NOT_INDEXED: Trouble & { readonly hint: string } = {
  code: "LOOKS_NOT_INDEXED",
  message:
    "the database reads the whole source to look at one tenant, so groupsync looks at single tenants for no more than a tenth of the time",
  hint: "create an index on the column of group.id; a query must let the condition on its id through to the table's index. See docs/new-tenants.md",
};

/** The database knows what would help. */
export const CHANGES_NOT_INDEXED: Trouble = {
  code: "CHANGES_NOT_INDEXED",
  message:
    "the database reads the whole source to find the newest rows of source.changes.column, so groupsync asks for them less often",
};

export const CHANGES_NOT_HEARD: Trouble & { readonly hint: string } = {
  code: "CHANGES_NOT_HEARD",
  message: "no notification arrives on source.changes.channel, not even groupsync's own",
  hint: "a pooler in transaction mode passes no notifications on: write the url of the database itself in source.changes.url",
};
