import { randomUUID } from "node:crypto";
import { STALE_CODE } from "../../../core/plan/read-history.ts";
import type { LedgerTables } from "../../sql/dialect/ledger-tables.ts";

/** Compared by its bytes: case, accents and trailing blanks make a difference. */
const ID = "VARBINARY(512)";
const SCOPE = "VARBINARY(255)";
const WORD = "VARCHAR(100)";
/** An engine with transactions, and texts compared by their bytes, whatever the server's defaults are. */
export const TABLE_OPTIONS =
  "ENGINE=InnoDB ROW_FORMAT=DYNAMIC DEFAULT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin";

interface Migration {
  /** The version that the statements lead to. */
  readonly version: number;
  /**
   * Statements that define tables. Each commits by itself, so a migration may run again, or run on two nodes of a cluster
   * at once. A column or key that exists already is no error.
   */
  readonly definitions: (tables: LedgerTables) => readonly string[];
  /** Statements that change rows. They follow in one transaction that also records the version, so they run once. */
  readonly rows?: (tables: LedgerTables) => readonly string[];
}

/** MySQL assigns from left to right: read an old value before its column is assigned. */
const moveFailures = (groups: string, fingerprint: string, kind: string): string =>
  `UPDATE ${groups} SET
     ${kind}_code = failure_code, ${kind}_message = failure_message, ${kind}_count = failure_count,
     ${kind}_retry_at = retry_at, ${kind}_since = failing_since,
     failing_since = NULL, failure_fingerprint = NULL, failure_code = NULL, failure_message = NULL,
     failure_count = 0, retry_at = NULL
   WHERE failure_fingerprint = '${fingerprint}'`;

/**
 * The steps to the latest version. MySQL's begin with version 3. PostgreSQL's migrations say what each column is for.
 * Never change a released migration: add a new one.
 */
export const MIGRATIONS: readonly Migration[] = [
  {
    version: 3,
    definitions: ({ groups, services, leases, runs, evidence, removals, formerTokens }) => [
      `CREATE TABLE IF NOT EXISTS ${groups} (
        scope ${SCOPE} NOT NULL,
        user_group_id ${ID} NOT NULL,
        bucket SMALLINT NOT NULL,
        row_digest BIGINT,
        fingerprint ${WORD},
        confirmed LONGTEXT,
        service_name LONGTEXT,
        token_fingerprint ${WORD},
        token_since DATETIME(6),
        data_source_id LONGTEXT,
        unverified ${WORD},
        intent ${WORD},
        intent_fingerprint ${WORD},
        intent_at DATETIME(6),
        missing_since DATETIME(6),
        missing_kind ${WORD},
        missing_ms BIGINT,
        missing_reads BIGINT,
        held ${WORD},
        failure_fingerprint ${WORD},
        failure_code ${WORD},
        failure_message LONGTEXT,
        failure_count INT NOT NULL DEFAULT 0,
        retry_at DATETIME(6),
        created_at DATETIME(6) NOT NULL,
        updated_at DATETIME(6) NOT NULL,
        PRIMARY KEY (scope, user_group_id),
        KEY held (scope, held, user_group_id),
        KEY token_since (scope, token_since, user_group_id)
      ) ${TABLE_OPTIONS}`,
      `CREATE TABLE IF NOT EXISTS ${services} (
        scope ${SCOPE} NOT NULL PRIMARY KEY,
        base_url TEXT NOT NULL,
        team_id BIGINT,
        updates BOOLEAN
      ) ${TABLE_OPTIONS}`,
      // A writer locks its entry in the second index. A renewal of the lease doesn't touch the entry; a new holder
      // does.
      `CREATE TABLE IF NOT EXISTS ${leases} (
        scope ${SCOPE} NOT NULL PRIMARY KEY,
        epoch BIGINT NOT NULL,
        holder TEXT NOT NULL,
        acquired_at DATETIME(6) NOT NULL,
        expires_at DATETIME(6) NOT NULL,
        UNIQUE KEY fence (scope, epoch)
      ) ${TABLE_OPTIONS}`,
      `CREATE TABLE IF NOT EXISTS ${runs} (
        id BIGINT NOT NULL AUTO_INCREMENT PRIMARY KEY,
        scope ${SCOPE} NOT NULL,
        command TEXT NOT NULL,
        started_at DATETIME(6) NOT NULL,
        finished_at DATETIME(6),
        outcome ${WORD},
        counts TEXT,
        requests BIGINT,
        error_code ${WORD},
        error_message LONGTEXT,
        KEY history (scope, id)
      ) ${TABLE_OPTIONS}`,
      `CREATE TABLE IF NOT EXISTS ${evidence} (
        scope ${SCOPE} NOT NULL PRIMARY KEY,
        source LONGTEXT,
        healthy_ms BIGINT NOT NULL,
        healthy_reads BIGINT NOT NULL,
        healthy_at DATETIME(6),
        holding BOOLEAN NOT NULL,
        approvals INT NOT NULL
      ) ${TABLE_OPTIONS}`,
      `CREATE TABLE IF NOT EXISTS ${removals} (
        id BIGINT NOT NULL AUTO_INCREMENT PRIMARY KEY,
        scope ${SCOPE} NOT NULL,
        removed_at DATETIME(6) NOT NULL,
        user_group_id ${ID} NOT NULL,
        kind ${WORD} NOT NULL,
        KEY removed_at (scope, removed_at)
      ) ${TABLE_OPTIONS}`,
      `CREATE TABLE IF NOT EXISTS ${formerTokens} (
        id BIGINT NOT NULL AUTO_INCREMENT PRIMARY KEY,
        scope ${SCOPE} NOT NULL,
        user_group_id ${ID} NOT NULL,
        token_fingerprint ${WORD} NOT NULL,
        live_since DATETIME(6),
        live_until DATETIME(6) NOT NULL,
        KEY user_group_id (scope, user_group_id),
        KEY live_until (scope, live_until)
      ) ${TABLE_OPTIONS}`,
    ],
  },
  {
    version: 4,
    definitions: ({ groups, runs }) => [
      `ALTER TABLE ${groups} ADD COLUMN failing_since DATETIME(6)`,
      `ALTER TABLE ${runs} ADD KEY started_at (scope, started_at)`,
    ],
    rows: ({ groups }) => [
      `UPDATE ${groups} SET failing_since = updated_at WHERE failure_count > 0 AND failing_since IS NULL`,
    ],
  },
  {
    version: 5,
    definitions: ({ tokenDestinations }) => [
      `CREATE TABLE IF NOT EXISTS ${tokenDestinations} (
        scope ${SCOPE} NOT NULL PRIMARY KEY,
        places LONGTEXT NOT NULL
      ) ${TABLE_OPTIONS}`,
    ],
  },
  {
    version: 6,
    definitions: ({ identity, groups, evidence, tokenDestinations }) => [
      `CREATE TABLE IF NOT EXISTS ${identity} (
        id ${WORD} NOT NULL PRIMARY KEY
      ) ${TABLE_OPTIONS}`,
      `ALTER TABLE ${groups} ADD COLUMN shared_token ${WORD}`,
      ...["rotation", "storing"].flatMap((kind) => [
        `ALTER TABLE ${groups} ADD COLUMN ${kind}_code ${WORD}`,
        `ALTER TABLE ${groups} ADD COLUMN ${kind}_message LONGTEXT`,
        `ALTER TABLE ${groups} ADD COLUMN ${kind}_count INT NOT NULL DEFAULT 0`,
        `ALTER TABLE ${groups} ADD COLUMN ${kind}_retry_at DATETIME(6)`,
        `ALTER TABLE ${groups} ADD COLUMN ${kind}_since DATETIME(6)`,
      ]),
      `ALTER TABLE ${groups} ADD KEY token_fingerprint (scope, token_fingerprint)`,
      `ALTER TABLE ${groups} ADD KEY shared_token (scope, shared_token)`,
      `ALTER TABLE ${evidence} ADD COLUMN held_code ${WORD}`,
      `ALTER TABLE ${evidence} DROP COLUMN holding`,
      `ALTER TABLE ${evidence} ADD COLUMN source_table LONGTEXT`,
      `ALTER TABLE ${tokenDestinations} ADD COLUMN token_tables LONGTEXT`,
      `ALTER TABLE ${tokenDestinations} MODIFY places LONGTEXT NULL`,
    ],
    rows: ({ identity, groups, evidence }) => [
      // An older groupsync may have died after it had chosen an id.
      `INSERT INTO ${identity} (id) SELECT '${randomUUID()}' FROM (SELECT 1) AS one
       WHERE NOT EXISTS (SELECT 1 FROM ${identity})`,
      `UPDATE ${groups} SET failing_since = updated_at WHERE failure_count > 0 AND failing_since IS NULL`,
      moveFailures(groups, "rotated", "rotation"),
      moveFailures(groups, "not_everywhere", "storing"),
      `UPDATE ${evidence} SET held_code = '${STALE_CODE}'
       WHERE scope IN (SELECT scope FROM ${groups} WHERE held IS NOT NULL)`,
    ],
  },
  {
    version: 7,
    definitions: ({ leases, requests }) => [
      `ALTER TABLE ${leases} ADD COLUMN hand_over_epoch BIGINT`,
      `ALTER TABLE ${leases} ADD COLUMN call_ms BIGINT`,
      `CREATE TABLE IF NOT EXISTS ${requests} (
        scope ${SCOPE} NOT NULL,
        id ${WORD} NOT NULL,
        kind ${WORD} NOT NULL,
        user_group_id ${ID},
        requested_by TEXT NOT NULL,
        requested_at DATETIME(6) NOT NULL,
        expires_at DATETIME(6) NOT NULL,
        answered_at DATETIME(6),
        outcome ${WORD},
        code ${WORD},
        message LONGTEXT,
        PRIMARY KEY (scope, id),
        KEY requested_at (scope, kind, requested_at)
      ) ${TABLE_OPTIONS}`,
    ],
  },
  {
    version: 8,
    definitions: ({ rejections }) => [
      `CREATE TABLE IF NOT EXISTS ${rejections} (
        scope ${SCOPE} NOT NULL,
        user_group_id ${ID} NOT NULL,
        code ${WORD} NOT NULL,
        bucket SMALLINT NOT NULL,
        message LONGTEXT NOT NULL,
        row_count BIGINT NOT NULL,
        since DATETIME(6) NOT NULL,
        PRIMARY KEY (scope, user_group_id, code)
      ) ${TABLE_OPTIONS}`,
    ],
  },
  {
    version: 9,
    definitions: ({ canaries }) => [
      `CREATE TABLE IF NOT EXISTS ${canaries} (
        scope ${SCOPE} NOT NULL PRIMARY KEY,
        user_group_id ${ID} NOT NULL,
        base_url TEXT NOT NULL,
        begun_at DATETIME(6) NOT NULL
      ) ${TABLE_OPTIONS}`,
    ],
  },
  {
    version: 10,
    definitions: ({ tokenDestinations }) => [
      `ALTER TABLE ${tokenDestinations} ADD COLUMN verified_at DATETIME(6)`,
    ],
  },
  {
    version: 11,
    definitions: ({ groups, evidence }) => [
      `ALTER TABLE ${groups} ADD COLUMN verified_at DATETIME(6)`,
      `ALTER TABLE ${groups} ADD KEY verified_at (scope, verified_at, user_group_id)`,
      `ALTER TABLE ${evidence} ADD COLUMN refresh_approved_at DATETIME(6)`,
    ],
    rows: ({ groups }) => [
      `UPDATE ${groups} SET verified_at = updated_at WHERE fingerprint IS NOT NULL AND verified_at IS NULL`,
    ],
  },
  {
    version: 12,
    definitions: ({ groups }) => [`ALTER TABLE ${groups} ADD KEY bucket (scope, bucket)`],
  },
  {
    version: 13,
    definitions: ({ services }) => [`ALTER TABLE ${services} ADD COLUMN answered_at DATETIME(6)`],
  },
  {
    version: 14,
    definitions: ({ services }) => [
      `ALTER TABLE ${services} ADD COLUMN updates_probed BOOLEAN NOT NULL DEFAULT FALSE`,
    ],
  },
];
