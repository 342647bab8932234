import { mysql } from "../../../../src/adapters/mysql/dialect.ts";
import { MIGRATIONS as MYSQL_MIGRATIONS } from "../../../../src/adapters/mysql/ledger/ledger-migrations.ts";
import { postgres } from "../../../../src/adapters/postgres/dialect.ts";
import { MIGRATIONS as POSTGRES_MIGRATIONS } from "../../../../src/adapters/postgres/ledger/ledger-migrations.ts";
import { ledgerTables } from "../../../../src/adapters/sql/dialect/ledger-tables.ts";
import { LOCATION, ledgerDatabase } from "./ledger-database.ts";

/** A ledger's tables as this version made them, on the database of the project, and what puts a row into one of them. */
export async function anOldLedger(version: number) {
  const database = await ledgerDatabase();
  const tables = ledgerTables(database.kind === "mysql" ? mysql : postgres, LOCATION);
  const timeType = database.kind === "mysql" ? "DATETIME(6)" : "timestamptz";
  await database.query(`CREATE TABLE groupsync_migrations (version INT PRIMARY KEY, applied_at ${timeType})`);
  const statements =
    database.kind === "mysql"
      ? MYSQL_MIGRATIONS.filter((each) => each.version <= version).flatMap((each) => each.statements(tables))
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
