import { randomBytes, randomUUID } from "node:crypto";
import { asFinding, type Finding, ok, warning } from "../../../core/report/finding.ts";
import { Secret } from "../../../core/secret/secret.ts";
import type { InTransaction } from "../connection/connections.ts";
import { quotedTable } from "../connection/table-place.ts";
import { type Database, insistOnWrites } from "../dialect/database.ts";
import type { TokenTableOptions } from "../dialect/token-statements.ts";
import { type OpenTable, orElse, type Refusal, removeTokens, writeTokens } from "./token-changes.ts";

/** In seconds: how long the rehearsal waits for a row that somebody else has locked. */
const LONGEST_WAIT = 2;

/**
 * Writes a token and removes it again in a transaction that is rolled back: nobody else ever sees it. Rejects as
 * `inspect` does.
 */
export async function rehearseTokens(
  database: Database,
  table: OpenTable,
  options: TokenTableOptions,
): Promise<Finding> {
  const { dialect } = database;
  await table.statements.inspect(database);
  const quoted = quotedTable(dialect, { place: table.marked, table: options.table });
  if (!(await dialect.tableExists(database, quoted))) {
    await insistOnWrites(database);
    return ok(`a sync creates the table ${options.table}, as this user may`);
  }
  if (!(await table.statements.canBeRolledBack(database))) {
    return warning(
      `no write to ${options.table} was tried, because the database might not take it back`,
      "name the table itself in tokens.table, in place of a view or of a table of another server",
    );
  }
  return database.transaction(dialect.begin.write, async (connection) => {
    await connection.query(dialect.lockWait(LONGEST_WAIT));
    const finding = await rehearse(database, table, options, connection);
    await connection.query(dialect.lockWait());
    await connection.query("ROLLBACK");
    return finding;
  });
}

async function rehearse(
  { dialect }: Pick<Database, "dialect">,
  table: OpenTable,
  options: TokenTableOptions,
  connection: InTransaction,
): Promise<Finding> {
  const { refusals } = table;
  const id = options.rows === "own" ? `groupsync-check-${randomUUID()}` : await anyId(table, connection);
  if (id === undefined) {
    return warning(
      `no write to ${options.table} was tried, because it has no row`,
      "with `rows: existing`, every tenant of the source needs a row there",
    );
  }
  const token = new Secret(`groupsync-check-${randomBytes(32).toString("base64url")}`);
  const attempt = (
    body: () => Promise<readonly Refusal[]>,
    refused: (error: unknown) => Refusal[1],
  ): Promise<Finding | undefined> =>
    orElse(
      { dialect, connection },
      async () => {
        const [refusal] = await body();
        return refusal && asFinding("failure", refusal[1]);
      },
      async (error) =>
        dialect.isLockTimeout(error) ? locked(options) : asFinding("failure", refused(error)),
    );
  const problem =
    (await attempt(
      () => writeTokens(table, options, [{ user_group_id: id, token }], connection, true),
      (error) => refusals.notStored(error, token),
    )) ??
    (await attempt(
      () => removeTokens(table, [id], connection),
      (error) => refusals.notRemoved(id, error, [token]),
    ));
  return problem ?? ok(`${options.table} took a token and let it go, in a transaction that was rolled back`);
}

async function anyId({ statements }: OpenTable, connection: InTransaction): Promise<string | undefined> {
  const [row] = await connection.query<{ id: string }>(statements.selectAnyId);
  return row?.id;
}

const locked = ({ table }: TokenTableOptions): Finding =>
  warning(
    `no write to ${table} was tried, because somebody has locked it`,
    "check again later; a sync waits longer for a lock",
  );
