import { expect, test } from "vitest";
import { postgres } from "../../../../src/adapters/postgres/dialect.ts";
import { MIGRATIONS } from "../../../../src/adapters/postgres/ledger/ledger-migrations.ts";
import { ledgerTables } from "../../../../src/adapters/sql/dialect/ledger-tables.ts";
import { LATEST_VERSION } from "../../../../src/adapters/sql/ledger/scope.ts";
import { NO_FAILURES } from "../../../../src/core/failure/group-failures.ts";
import { NO_READ_HISTORY } from "../../../../src/core/plan/read-history.ts";
import { aFailed, anApply, aRotation, aRow } from "../../../builders/groups.ts";
import { collect } from "../../../contracts/collect.ts";
import {
  carryOut,
  groupOf,
  LATER,
  type LedgerDatabase,
  NOW,
  opened,
  write,
} from "../../../contracts/ledger/rig.ts";
import type { FreshDatabase } from "../../../support/databases/fresh-database.ts";
import { LOCATION, ledgerDatabase } from "../../sql/ledger/ledger-database.ts";
import { expectKindsApart, failuresInVersion5 } from "../../sql/ledger/ledger-version-5.ts";
import { anOwnedGroupInVersion7, expectRejectionsRemembered } from "../../sql/ledger/ledger-version-7.ts";
import { aRejectionInVersion8, expectCanaryRemembered } from "../../sql/ledger/ledger-version-8.ts";
import {
  expectVerificationRemembered,
  TOKEN_PLACES_IN_VERSION_9,
} from "../../sql/ledger/ledger-version-9.ts";

/** A ledger's tables as this version made them, with what these statements put into them. */
async function aLedgerOfVersion(version: number, sql: string): Promise<LedgerDatabase & FreshDatabase> {
  const database = await ledgerDatabase();
  await database.query(
    "CREATE TABLE groupsync_migrations (version integer PRIMARY KEY, applied_at timestamptz NOT NULL DEFAULT now())",
  );
  for (const migration of MIGRATIONS.slice(0, version))
    await database.query(migration(ledgerTables(postgres, LOCATION)));
  await database.setVersion(version);
  await database.query(sql);
  return database;
}

test("the migrations lead to the version that the statements are written for", () => {
  expect(MIGRATIONS).toHaveLength(LATEST_VERSION);
});

/** Groups at rest, under way, failing and missing; a run and a service. */
const aVersion1Ledger = (): Promise<LedgerDatabase> =>
  aLedgerOfVersion(
    1,
    `INSERT INTO groupsync_groups (scope, user_group_id, bucket, row_digest, fingerprint, confirmed, service_name,
      token_fingerprint, unverified, intent, intent_at, missing_since, failure_fingerprint, failure_code,
      failure_message, failure_count, retry_at, created_at, updated_at) VALUES
    ('default', 'at rest', 7, 4711, 'f', '{"user_group_id": "at rest"}', 'At rest',
      't', NULL, NULL, NULL, NULL, NULL, NULL, NULL, 0, NULL, now(), now()),
    ('default', 'failing', 7, 4711, 'f', NULL, 'Failing',
      't', 'updated', NULL, NULL, NULL, 'g', 'REFUSED', 'no', 2, '2026-03-01T00:00:00Z', now(), now()),
    ('default', 'missing', 7, 4711, 'f', NULL, 'Missing',
      't', NULL, NULL, NULL, '2026-02-01T00:00:00Z', NULL, NULL, NULL, 0, NULL, now(), now()),
    ('default', 'under way', 7, NULL, NULL, NULL, NULL,
      NULL, NULL, 'apply', now(), NULL, NULL, NULL, NULL, 0, NULL, now(), now());
    INSERT INTO groupsync_services (scope, base_url, team_id) VALUES ('default', 'https://service.test', 7);
    INSERT INTO groupsync_runs (scope, command, started_at) VALUES ('default', 'sync', now());`,
  );

test("a ledger of version 1 is brought up to date with what it holds; who is missing counts anew", async () => {
  const database = await aVersion1Ledger();
  await expect(database.view().status()).rejects.toMatchObject({ code: "LEDGER_OUTDATED" });
  const { ledger } = await opened(async () => database);

  const known = { fingerprint: "f", row: aRow(), intent: null, isUpdateUnverified: false };
  const atRest = { ...known, absence: null, held: null, failures: NO_FAILURES };
  const change = {
    fingerprint: "g",
    code: "REFUSED",
    message: "no",
    count: 2,
    retryAt: new Date("2026-03-01T00:00:00Z"),
  };
  expect(await collect(ledger.groups())).toEqual([
    { ...atRest, user_group_id: "at rest" },
    { ...atRest, user_group_id: "failing", isUpdateUnverified: true, failures: { ...NO_FAILURES, change } },
    { ...atRest, user_group_id: "missing" },
    { ...atRest, user_group_id: "under way", fingerprint: null, row: null, intent: "apply" },
  ]);
  expect(await ledger.readHistory()).toMatchObject(NO_READ_HISTORY);
  expect(await ledger.status()).toMatchObject({
    groups: { total: 4, in_sync: 2, missing: 0 },
    held: null,
    runs: [{ command: "sync" }],
    service: { baseUrl: "https://service.test", teamId: 7 },
  });
  expect(await database.dump()).not.toContain("2026-02-01");
});

test("in a ledger of version 2, a token is taken for as old as its group", async () => {
  const database = await aLedgerOfVersion(
    2,
    `INSERT INTO groupsync_groups (scope, user_group_id, bucket, row_digest, fingerprint, token_fingerprint, intent,
      missing_since, missing_kind, missing_ms, missing_reads, held, failure_fingerprint, failure_code, failure_message,
      failure_count, retry_at, created_at, updated_at) VALUES
    ('default', 'acme', 7, 4711, 'f', 'the first', NULL,
      NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, 0, NULL, '2026-02-01T00:00:00Z', '2026-03-01T00:00:00Z'),
    ('default', 'failing', 7, 4711, 'f', 't', NULL,
      NULL, NULL, NULL, NULL, 'replace', 'g', 'NOT_UPDATED', 'no', 2, '2026-03-01T00:00:00Z', '2026-01-01T00:00:00Z', now()),
    ('default', 'gone', 7, 4711, 'f', 't', NULL,
      now(), 'absent', 1, 1, 'delete', NULL, NULL, NULL, 0, NULL, '2026-01-02T00:00:00Z', now()),
    ('default', 'never made', 7, NULL, NULL, NULL, NULL,
      NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, 0, NULL, '2026-01-01T00:00:00Z', now())`,
  );
  await expect(database.view().rotatableCount(NOW)).rejects.toMatchObject({ code: "LEDGER_OUTDATED" });
  const at = await opened(async () => database);
  expect(await at.ledger.rotatable({ until: NOW, limit: 10 })).toEqual([
    { user_group_id: "failing", tokenSince: new Date("2026-01-01T00:00:00Z"), failure: null },
    { user_group_id: "acme", tokenSince: new Date("2026-02-01T00:00:00Z"), failure: null },
  ]);
  expect(await groupOf(at, "gone")).toMatchObject({ absence: { kind: "absent" }, held: "delete" });
  expect(await groupOf(at, "failing")).toMatchObject({
    failures: { change: { code: "NOT_UPDATED" } },
    held: "replace",
  });

  await write(at, (transaction) => transaction.recordRotation(aRotation(), NOW));
  expect(await database.formerTokens()).toEqual([
    { user_group_id: "acme", fingerprint: "the first", since: new Date("2026-02-01T00:00:00Z"), until: NOW },
  ]);
});

test("in a ledger of version 3, a group is taken to be failing since its last change", async () => {
  const database = await aLedgerOfVersion(
    3,
    `INSERT INTO groupsync_groups (scope, user_group_id, bucket, failure_fingerprint, failure_code, failure_message,
      failure_count, retry_at, created_at, updated_at) VALUES
    ('default', 'at rest', 7, NULL, NULL, NULL, 0, NULL, '2026-01-01T00:00:00Z', '2026-01-02T00:00:00Z'),
    ('default', 'failing', 7, 'g', 'REFUSED', 'no', 2, '2026-03-01T00:00:00Z', '2026-01-01T00:00:00Z',
      '2026-02-01T00:00:00Z');
    INSERT INTO groupsync_leases (scope, epoch, holder, acquired_at, expires_at) VALUES
    ('another, whose lease has expired', 3, 'gone', '2025-01-01T00:00:00Z', '2025-01-01T00:01:00Z')`,
  );
  await expect(database.view().status()).rejects.toMatchObject({ code: "LEDGER_OUTDATED" });
  const at = await opened(async () => database);
  const since = new Date("2026-02-01T00:00:00Z");
  expect(await at.ledger.status()).toMatchObject({
    failing: [{ user_group_id: "failing", count: 2, since }],
    oldestUnsynced: since,
  });
  for (const id of ["at rest", "failing"]) {
    await carryOut(at, aFailed({ change: anApply({ user_group_id: id }) }), LATER);
  }
  expect((await at.ledger.status()).failing).toMatchObject([
    { user_group_id: "failing", count: 3, since },
    { user_group_id: "at rest", count: 1, since: NOW },
  ]);
});

test("a ledger of version 5 gets a place of its own for each kind of failure", async () => {
  const database = await aLedgerOfVersion(5, failuresInVersion5("Z"));
  await expectKindsApart(database);
});

test("a ledger of version 7 keeps its groups, and remembers rejected rows from then on", async () => {
  const database = await aLedgerOfVersion(7, anOwnedGroupInVersion7("Z"));
  await expectRejectionsRemembered(database);
});

test("a ledger of version 8 keeps its rejected rows, and remembers a canary from then on", async () => {
  const database = await aLedgerOfVersion(8, aRejectionInVersion8("Z"));
  await expectCanaryRemembered(database);
});

test("a ledger of version 9 keeps the places of its tokens, and remembers from then on when all were verified", async () => {
  const database = await aLedgerOfVersion(9, TOKEN_PLACES_IN_VERSION_9);
  await expectVerificationRemembered(database);
});
