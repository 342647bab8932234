import { randomUUID } from "node:crypto";
import { STALE_CODE } from "../../core/evidence.ts";
import type { LedgerTables } from "../sql/ledger-tables.ts";

/** Compared by its bytes, which keeps case, accents and blanks at the end apart. */
const ID = "VARBINARY(512)";
const SCOPE = "VARBINARY(255)";
const WORD = "VARCHAR(100)";
/** A write must be able to be undone, and texts compare by their bytes, whatever the server's defaults are. */
export const TABLE_OPTIONS =
  "ENGINE=InnoDB ROW_FORMAT=DYNAMIC DEFAULT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin";

export interface Migration {
  /** What the ledger's version is then. */
  readonly version: number;
  /** Each commits by itself, so that the whole has to bear being run again. Columns and keys are added only once. */
  readonly statements: (tables: LedgerTables) => readonly string[];
}

/**
 * What brings the ledger to the latest version. Here it begins with version 3; what each column is for is told in
 * PostgreSQL's migrations. A migration that has been released is never changed: a new one follows it.
 */
export const MIGRATIONS: readonly Migration[] = [
  {
    version: 3,
    statements: ({ groups, services, leases, runs, evidence, removals, formerTokens }) => [
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
      // A writer locks its entry in the second index, which a heartbeat doesn't touch and a new holder does.
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
    statements: ({ groups, runs }) => [
      `ALTER TABLE ${groups} ADD COLUMN failing_since DATETIME(6)`,
      `UPDATE ${groups} SET failing_since = updated_at WHERE failure_count > 0 AND failing_since IS NULL`,
      `ALTER TABLE ${runs} ADD KEY started_at (scope, started_at)`,
    ],
  },
  {
    version: 5,
    statements: ({ tokenPlaces }) => [
      `CREATE TABLE IF NOT EXISTS ${tokenPlaces} (
        scope ${SCOPE} NOT NULL PRIMARY KEY,
        places LONGTEXT NOT NULL
      ) ${TABLE_OPTIONS}`,
    ],
  },
  {
    version: 6,
    statements: ({ identity, groups, evidence, tokenPlaces }) => [
      `CREATE TABLE IF NOT EXISTS ${identity} (
        id ${WORD} NOT NULL PRIMARY KEY
      ) ${TABLE_OPTIONS}`,
      // Of a program that died after this one, the id that it chose stays.
      `INSERT INTO ${identity} (id) SELECT '${randomUUID()}' FROM (SELECT 1) AS one
       WHERE NOT EXISTS (SELECT 1 FROM ${identity})`,
      `ALTER TABLE ${groups} ADD COLUMN shared_token ${WORD}`,
      `ALTER TABLE ${groups} ADD COLUMN copies_code ${WORD}`,
      `ALTER TABLE ${groups} ADD COLUMN copies_message LONGTEXT`,
      `ALTER TABLE ${groups} ADD COLUMN copies_count INT NOT NULL DEFAULT 0`,
      `ALTER TABLE ${groups} ADD COLUMN copies_retry_at DATETIME(6)`,
      `ALTER TABLE ${groups} ADD COLUMN copies_since DATETIME(6)`,
      // From left to right: an old value is read before it is written.
      `UPDATE ${groups} SET
         copies_code = failure_code, copies_message = failure_message, copies_count = failure_count,
         copies_retry_at = retry_at, copies_since = coalesce(failing_since, updated_at),
         failing_since = NULL, failure_fingerprint = NULL, failure_code = NULL, failure_message = NULL,
         failure_count = 0, retry_at = NULL
       WHERE failure_fingerprint = 'not_everywhere'`,
      `ALTER TABLE ${groups} ADD KEY token_fingerprint (scope, token_fingerprint)`,
      `ALTER TABLE ${groups} ADD KEY shared_token (scope, shared_token)`,
      `ALTER TABLE ${evidence} ADD COLUMN held_code ${WORD}`,
      `UPDATE ${evidence} SET held_code = '${STALE_CODE}'
    WHERE scope IN (SELECT scope FROM ${groups} WHERE held IS NOT NULL)`,
      `ALTER TABLE ${evidence} DROP COLUMN holding`,
      `ALTER TABLE ${evidence} ADD COLUMN source_table LONGTEXT`,
      `ALTER TABLE ${tokenPlaces} ADD COLUMN token_tables LONGTEXT`,
      `ALTER TABLE ${tokenPlaces} MODIFY places LONGTEXT NULL`,
    ],
  },
];
