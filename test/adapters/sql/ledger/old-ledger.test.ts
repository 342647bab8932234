import { expect, test } from "vitest";
import { mysql } from "../../../../src/adapters/mysql/dialect.ts";
import { MIGRATIONS as MYSQL_MIGRATIONS } from "../../../../src/adapters/mysql/ledger/ledger-migrations.ts";
import { postgres } from "../../../../src/adapters/postgres/dialect.ts";
import { MIGRATIONS as POSTGRES_MIGRATIONS } from "../../../../src/adapters/postgres/ledger/ledger-migrations.ts";
import { ledgerTables } from "../../../../src/adapters/sql/dialect/ledger-tables.ts";
import { LATEST_VERSION } from "../../../../src/adapters/sql/ledger/scope.ts";
import { NO_FAILURES } from "../../../../src/core/failure/group-failures.ts";
import { aRow } from "../../../builders/groups.ts";
import { collect } from "../../../contracts/collect.ts";
import { NOW, opened } from "../../../contracts/ledger/rig.ts";
import { LOCATION, ledgerDatabase } from "./ledger-database.ts";

/** The version of the ledger in groupsync 0.1.0. No release has written an older one. */
const FIRST_RELEASE = 11;

/** A ledger's tables as this version made them, on the database of the project, and what puts a row into one of them. */
async function anOldLedger(version: number) {
  const database = await ledgerDatabase();
  const tables = ledgerTables(database.kind === "mysql" ? mysql : postgres, LOCATION);
  const timeType = database.kind === "mysql" ? "DATETIME(6)" : "timestamptz NOT NULL DEFAULT now()";
  await database.query(`CREATE TABLE groupsync_migrations (version INT PRIMARY KEY, applied_at ${timeType})`);
  const statements =
    database.kind === "mysql"
      ? MYSQL_MIGRATIONS.filter((each) => each.version <= version).flatMap(({ definitions, rows }) => [
          ...definitions(tables),
          ...(rows?.(tables) ?? []),
        ])
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

test("the migrations lead to the version that the statements are written for", () => {
  expect(POSTGRES_MIGRATIONS).toHaveLength(LATEST_VERSION);
  expect(MYSQL_MIGRATIONS.at(-1)?.version).toBe(LATEST_VERSION);
});

test("a ledger of the first release is brought up to date with all that it holds", async () => {
  const { database, insert } = await anOldLedger(FIRST_RELEASE);
  const since = new Date("2026-02-01T00:00:00Z");
  const retryAt = new Date("2026-03-03T00:00:00Z");
  const atRest = {
    scope: "default",
    bucket: 7,
    row_digest: "4711",
    fingerprint: "f",
    confirmed: "{}",
    service_name: "Acme",
    token_fingerprint: "t",
    token_since: since,
    verified_at: since,
    created_at: since,
    updated_at: since,
  };
  const groups: Readonly<Record<string, object>> = {
    "at rest": {},
    failing: {
      ...{ failure_fingerprint: "g", failure_code: "REFUSED", failure_message: "no", failure_count: 2 },
      ...{ retry_at: retryAt, failing_since: since },
    },
    held: {
      ...{ missing_kind: "absent", missing_since: since, missing_ms: 1, missing_reads: 2, held: "delete" },
    },
    "under way": { intent: "rotate", intent_at: since },
  };
  for (const [user_group_id, columns] of Object.entries(groups))
    await insert("groups", { ...atRest, user_group_id, ...columns });
  await insert("services", { scope: "default", base_url: "https://service.test", team_id: 7, updates: true });
  await insert("token_places", { scope: "default", places: '["table tokens"]' });
  await expect(database.view().status()).rejects.toMatchObject({ code: "LEDGER_OUTDATED" });

  const { ledger } = await opened(async () => database);
  const known = {
    ...{ fingerprint: "f", row: aRow(), intent: null, isUpdateUnverified: false },
    ...{ absence: null, held: null, failures: NO_FAILURES },
  };
  const change = { fingerprint: "g", code: "REFUSED", message: "no", count: 2, retryAt };
  expect((await collect(ledger.groups())).flat()).toEqual([
    { ...known, user_group_id: "at rest" },
    { ...known, user_group_id: "failing", failures: { ...NO_FAILURES, change } },
    {
      ...known,
      user_group_id: "held",
      absence: { kind: "absent", since, at: { ms: 1, reads: 2 } },
      held: "delete",
    },
    { ...known, user_group_id: "under way", intent: "rotate" },
  ]);
  expect(await ledger.service()).toMatchObject({ baseUrl: "https://service.test", teamId: 7, updates: true });
  expect(await ledger.tokenDestinations()).toEqual(["table tokens"]);
  expect(await ledger.rotatable({ until: NOW, limit: 1 })).toMatchObject([{ tokenSince: since }]);
});
