/** A table with tokens, as the database names it. */
export interface TokenTable {
  /** The table as written in the config: if that changes, tokens move to another destination. */
  readonly written: string;
  /** On MySQL, the database. */
  readonly schema: string;
  readonly table: string;
  /** Null if the table doesn't exist yet, and on MySQL, where tables have no owners. */
  readonly owner: string | null;
}

/** A table with tokens, as it is now. */
export interface FoundTokenTable extends TokenTable {
  /** The table's owner is this program's database user, or the owner that the config names. */
  readonly isOwnerNamed: boolean;
}

export const shownTable = ({ schema, table, owner }: TokenTable): string =>
  `${schema}.${table}${owner === null ? "" : ` owned by ${owner}`}`;

/** Whether the same name leads to another table than before. Compares only what a restore from a dump keeps. */
export const leadsElsewhere = (before: TokenTable, now: FoundTokenTable): boolean =>
  before.schema !== now.schema ||
  before.table !== now.table ||
  (before.owner !== null && now.owner !== null && before.owner !== now.owner && !now.isOwnerNamed);
