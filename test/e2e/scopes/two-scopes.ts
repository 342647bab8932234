import type { FreshDatabase } from "../../support/databases/fresh-database.ts";
import { dump } from "../dump.ts";
import { aWorld, type ConfigChanges, type World } from "../world.ts";

export interface TwoScopes {
  readonly production: World;
  /** With a service and a team of its own. It shares database and ledger with production. */
  readonly staging: World;
}

/** Keys of a staging config beside that of production. */
export const STAGING: ConfigChanges = { name: "staging", tokens: { table: "staging_tokens" } };

/** Two scopes of one ledger, not synced yet. */
export async function twoScopes(tenants = 5): Promise<TwoScopes> {
  const production = await aWorld({ tenants, config: { name: "production" } });
  const staging = await aWorld({ tenants: 0, service: { teamId: 2 }, config: STAGING });
  staging.env.DATABASE_URL = production.database.url;
  return { production, staging };
}

const TABLES = ["groups", "scopes", "former_tokens", "removals", "rejections", "runs", "leases"];

/** All that the ledger has of production, its tokens, and the marks of all token tables. */
export async function ofProduction(
  database: FreshDatabase,
): Promise<Readonly<Record<string, readonly unknown[]>>> {
  const kept: Record<string, readonly unknown[]> = {};
  for (const table of TABLES) {
    const rows = await database.query(`SELECT * FROM groupsync_${table} WHERE scope = 'production'`);
    kept[table] = rows.map((row) => JSON.stringify(row)).toSorted();
  }
  const { groupsync_tokens: tokens, groupsync_token_owners: owners } = await dump(database);
  return { ...kept, tokens: tokens ?? [], owners: owners ?? [] };
}

/** The tables that have a row of the scope, without those of the leases and of the runs. */
export async function rowsOf(scope: string, { query }: FreshDatabase): Promise<readonly string[]> {
  const found: string[] = [];
  for (const table of TABLES.slice(0, -2)) {
    const rows = await query(`SELECT 1 AS one FROM groupsync_${table} WHERE scope = $1`, [scope]);
    if (rows.length > 0) found.push(table);
  }
  return found;
}
