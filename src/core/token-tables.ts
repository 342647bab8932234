/** A table that tokens are written to, as its database has it. */
export interface TokenTable {
  /** As the config says it: another text is another place, to which tokens move. */
  readonly written: string;
  /** On MySQL, the database. */
  readonly schema: string;
  readonly table: string;
  /** Null where it isn't there yet, and on MySQL, whose tables have no owners. */
  readonly owner: string | null;
}

/** As it is now. */
export interface FoundTokenTable extends TokenTable {
  /** Its owner is the user of this process, or the one that the config names. */
  readonly isOwnerNamed: boolean;
}

export const shownTable = ({ schema, table, owner }: TokenTable): string =>
  `${schema}.${table}${owner === null ? "" : ` of ${owner}`}`;

/** Whether the same words lead to another table than before, by what a restore from a dump keeps. */
export const leadsElsewhere = (before: TokenTable, now: FoundTokenTable): boolean =>
  before.schema !== now.schema ||
  before.table !== now.table ||
  (before.owner !== null && now.owner !== null && before.owner !== now.owner && !now.isOwnerNamed);
