import { describe, type SyncError } from "../../../core/failure/sync-error.ts";
import type { StoredToken } from "../../../ports/token-store.ts";
import type { InTransaction, Queryable } from "../connection/connections.ts";
import { nameOf } from "../connection/identifiers.ts";
import type { TablePlace } from "../connection/table-place.ts";
import type { Database } from "../dialect/database.ts";
import type { Dialect } from "../dialect/dialect.ts";
import { insistOnOwner } from "../dialect/table-owner.ts";
import type { TokenRow, TokenStatements, TokenTableOptions } from "../dialect/token-statements.ts";
import { TokenRefusals } from "./token-refusals.ts";
import type { MarkedTable } from "./token-table-owner.ts";

/** A token table that was found, or the place where it would be created. */
export interface OpenTable {
  readonly marked: MarkedTable | undefined;
  readonly statements: TokenStatements;
  readonly refusals: TokenRefusals;
  /**
   * Rejects with CONFIG_TABLE_OWNER unless the config trusts the owner of a table that has been created since.
   */
  insistIfNew(): Promise<void>;
}

export async function openTable(database: Database, options: TokenTableOptions): Promise<OpenTable> {
  const { dialect } = database;
  const place = await dialect.tablePlace(database.byRolesPath, nameOf(options.table));
  const insist = () => insistOnTableOwner(database, options, place);
  await insist();
  const wasThere = place !== undefined && place.owner !== null;
  const statements = dialect.tokenStatements({ ...options, place });
  return {
    marked: place && { ...place, column: await dialect.columnName(database, place, options.tokenColumn) },
    statements,
    refusals: new TokenRefusals(dialect, statements, options),
    insistIfNew: async () => {
      if (!wasThere) await insist();
    },
  };
}

/** With `rows: existing`, the config names a table of the customer and thereby trusts its owner. */
async function insistOnTableOwner(
  database: Database,
  { rows, owner }: TokenTableOptions,
  place: TablePlace | undefined,
): Promise<void> {
  if (!place || rows === "existing") return;
  const tables = { schema: place.schema, tables: [place.table], trusted: owner === undefined ? [] : [owner] };
  await insistOnOwner(database, tables);
}

/** Why one group's token could not be stored or removed. */
export type Refusal = readonly [user_group_id: string, error: SyncError];

type Rows = Pick<TokenTableOptions, "rows">;

/** Resolves to the tokens that did not get into the table. Rejects if the database refuses one. */
export async function writeTokens(
  table: OpenTable,
  options: Rows,
  tokens: readonly StoredToken[],
  connection: Queryable,
  rewrite: boolean,
): Promise<readonly Refusal[]> {
  const wanted = new Map(tokens.map((entry) => [entry.user_group_id, entry.token.reveal()]));
  const rows = await table.statements.write(connection, tokens, rewrite);
  // A trigger can write another token instead, even the old one.
  const written = new Set(rows.filter(({ id, token }) => token === wanted.get(id)).map(({ id }) => id));
  const unwritten = tokens.filter((entry) => !written.has(entry.user_group_id));
  return whyNot(table, options, unwritten, connection, rewrite);
}

/**
 * Why tokens were not written: a trigger, a policy or a rule can skip a write without an error. A token that is
 * already there needs no write, except with `rewrite`.
 */
async function whyNot(
  { statements, refusals }: OpenTable,
  { rows }: Rows,
  unwritten: readonly StoredToken[],
  connection: Queryable,
  rewrite: boolean,
): Promise<readonly Refusal[]> {
  if (unwritten.length === 0) return [];
  const checks = await statements.check(connection, unwritten);
  const hasRow = (isThere: boolean | null): boolean => isThere !== null || rows === "own";
  return checks
    .filter(({ isThere }) => rewrite || !isThere)
    .map(({ id, isThere }) => [id, hasRow(isThere) ? refusals.skipped(id) : refusals.noRow(id)]);
}

/**
 * The rows of these ids. If the column can't have one of the ids, looks for each half of them, down to single ids, and leaves
 * those out that the column can't have. `find` looks for some of them.
 */
export async function findRows(
  dialect: Pick<Dialect, "isOfValue">,
  ids: readonly string[],
  find: (ids: readonly string[]) => Promise<readonly TokenRow[]>,
): Promise<readonly TokenRow[]> {
  try {
    return await find(ids);
  } catch (error) {
    if (!dialect.isOfValue(error)) throw error;
  }
  if (ids.length <= 1) return [];
  const half = Math.ceil(ids.length / 2);
  return [
    ...(await findRows(dialect, ids.slice(0, half), find)),
    ...(await findRows(dialect, ids.slice(half), find)),
  ];
}

const rethrow = (error: unknown): never => {
  throw error;
};

/** Looks for rows in a transaction, which goes on after a statement that fails. */
export const findWithin = (
  { statements }: OpenTable,
  ids: readonly string[],
  savepoints: Savepoints,
): Promise<readonly TokenRow[]> =>
  findRows(savepoints.dialect, ids, (some) =>
    orElse(savepoints, () => statements.find(savepoints.connection, some), rethrow),
  );

/** Resolves to the tokens that are still there. Rejects if the database refuses to remove one. */
export async function removeTokens(
  { statements, refusals }: OpenTable,
  ids: readonly string[],
  connection: Queryable,
): Promise<readonly Refusal[]> {
  const removed = new Set(await statements.remove(connection, ids));
  return ids.filter((id) => !removed.has(id)).map((id) => [id, refusals.kept(id)]);
}

/** In seconds. Short, because many rows may be locked, and each is waited for by a statement of its own. */
const WAIT_FOR_ONE = 1;

/** A transaction that goes on after a statement has failed. */
export interface Savepoints {
  readonly dialect: Pick<Dialect, "isGeneral" | "isDeadlock" | "isOfValue" | "lockWait" | "savepoint">;
  readonly connection: Pick<InTransaction, "query" | "isLastAttempt">;
}

/** A statement made the database roll back the whole transaction, together with the savepoint. */
export class TransactionLost extends Error {
  override readonly name = "TransactionLost";

  constructor(cause: unknown) {
    super(describe(cause), { cause });
  }
}

/**
 * Runs `body`. If the database refuses a statement in it, undoes `body` alone and runs `otherwise`.
 * Rejects if the database as a whole is at fault, and with TransactionLost.
 */
export async function orElse<T>(
  { dialect, connection }: Savepoints,
  body: () => Promise<T>,
  otherwise: (error: unknown) => Promise<T>,
): Promise<T> {
  await connection.query(dialect.savepoint.open);
  try {
    const result = await body();
    await connection.query(dialect.savepoint.release);
    return result;
  } catch (error) {
    if (dialect.isGeneral(error)) throw error;
    // A trigger can raise a deadlock error too, and then raises it each time.
    if (dialect.isDeadlock(error) && !connection.isLastAttempt) throw error;
    try {
      await connection.query(dialect.savepoint.undo);
    } catch {
      throw new TransactionLost(error);
    }
    await connection.query(dialect.savepoint.release);
    return otherwise(error);
  }
}

/**
 * Runs `body` for all items at once. If the database refuses a statement, runs `body` for each item alone and calls
 * `refused` for each item that fails alone; the transaction goes on. Resolves to all results together.
 * Rejects if `body` fails even for no items: then the fault is not an item's.
 */
export function togetherOrEach<Item, Result>(
  savepoints: Savepoints,
  items: readonly Item[],
  body: (items: readonly Item[]) => Promise<readonly Result[]>,
  refused: (item: Item, error: unknown) => Result,
): Promise<readonly Result[]> {
  const { dialect, connection } = savepoints;
  const each = async (error: unknown): Promise<readonly Result[]> => {
    await orElse(savepoints, () => body([]), rethrow);
    const [only, ...others] = items;
    if (only !== undefined && others.length === 0) return [refused(only, error)];
    const results: Result[] = [];
    await connection.query(dialect.lockWait(WAIT_FOR_ONE));
    for (const item of items) {
      const alone = () => body([item]);
      results.push(...(await orElse(savepoints, alone, async (reason) => [refused(item, reason)])));
    }
    await connection.query(dialect.lockWait());
    return results;
  };
  return orElse(savepoints, () => body(items), each);
}
