/** The customers table of a benchmark, with a change column, and the tokens that groupsync stores for it. */
export interface Tenants {
  /** When each token was first seen, on the clock of `performance.now()`, by user_group_id. */
  readonly seenAt: ReadonlyMap<string, number>;
  /** The keys of `tokens` in the config that the watch needs. */
  readonly config: object;
  /** Adds a change column with an index and, on PostgreSQL, the documented trigger. */
  prepare(): Promise<void>;
  /** Does the maintenance that the server would do in time. */
  tidy(): Promise<void>;
  /** Watches for tokens from now on. */
  watch(): Promise<void>;
  /** Adds tenants by one INSERT. Resolves when that is committed. */
  insert(ids: readonly string[]): Promise<void>;
  /** The id of the server's first process. */
  serverPid(): Promise<number>;
  close(): Promise<void>;
}

export const insertStatement = (ids: readonly string[]): string =>
  `INSERT INTO customers (id, company_name, data_source_id, plan, seats)
   VALUES ${ids.map((id) => `('${id}', 'Company', 'ds', 'basic', 7)`).join(", ")}`;
