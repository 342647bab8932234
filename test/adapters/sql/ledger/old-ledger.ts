import { mysql } from "../../../../src/adapters/mysql/dialect.ts";
import { MIGRATIONS as MYSQL_MIGRATIONS } from "../../../../src/adapters/mysql/ledger/ledger-migrations.ts";
import { postgres } from "../../../../src/adapters/postgres/dialect.ts";
import { MIGRATIONS as POSTGRES_MIGRATIONS } from "../../../../src/adapters/postgres/ledger/ledger-migrations.ts";
import { ledgerTables } from "../../../../src/adapters/sql/dialect/ledger-tables.ts";
import { desiredTenants, digestSeed } from "../../../../src/core/group/desired-group.ts";
import { tokenFingerprint } from "../../../../src/core/group/group.ts";
import { columnsOf, type GroupRules } from "../../../../src/core/group/group-rules.ts";
import type { DesiredTenant } from "../../../../src/core/group/tenant.ts";
import { Secret } from "../../../../src/core/secret/secret.ts";
import { aTenantRow, type TenantRecord } from "../../../fakes/tenant-source.ts";
import { LOCATION, ledgerDatabase } from "./ledger-database.ts";

/** All statements of one of MySQL's migrations. */
export const mysqlStatements = (
  { definitions, rows }: (typeof MYSQL_MIGRATIONS)[number],
  tables = ledgerTables(mysql, LOCATION),
): readonly string[] => [...definitions(tables), ...(rows?.(tables) ?? [])];

/** A ledger's tables as this version made them, on the database of the project, and what puts a row into one of them. */
export async function anOldLedger(version: number) {
  const database = await ledgerDatabase();
  const tables = ledgerTables(database.kind === "mysql" ? mysql : postgres, LOCATION);
  const timeType = database.kind === "mysql" ? "DATETIME(6)" : "timestamptz";
  await database.query(`CREATE TABLE groupsync_migrations (version INT PRIMARY KEY, applied_at ${timeType})`);
  const statements =
    database.kind === "mysql"
      ? MYSQL_MIGRATIONS.filter((each) => each.version <= version).flatMap((each) =>
          mysqlStatements(each, tables),
        )
      : POSTGRES_MIGRATIONS.slice(0, version).map((migration) => migration(tables));
  for (const statement of statements) await database.query(statement);
  await database.setVersion(version);
  const insert = async (table: string, row: object): Promise<void> => {
    const columns = Object.keys(row);
    const places = columns.map((_, index) => `$${index + 1}`);
    await database.query(
      `INSERT INTO groupsync_${table} (${columns.join(", ")}) VALUES (${places.join(", ")})`,
      Object.values(row),
    );
  };
  return { database, insert };
}

/** What the row becomes under these rules. */
export function desiredTenant(rules: GroupRules, record: TenantRecord): DesiredTenant {
  const cells = columnsOf(rules).map((name) => record[name] ?? null);
  const tenant = desiredTenants(rules)(aTenantRow(cells, digestSeed(rules)));
  if (tenant.kind !== "desired") throw new Error(`the row ${record.id} is ${tenant.kind}`);
  return tenant;
}

/** The columns of a group at rest that each version of the ledger has, without its times. */
export const groupAtRest = (scope: string, { row, group, fingerprint }: DesiredTenant, token: string) => ({
  scope,
  user_group_id: group.user_group_id,
  bucket: row.bucket,
  row_digest: row.digest,
  fingerprint,
  confirmed: JSON.stringify(group),
  service_name: group.name,
  token_fingerprint: tokenFingerprint(new Secret(token)),
});
