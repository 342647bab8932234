import { randomUUID } from "node:crypto";
import { STALE_CODE } from "../../../core/plan/read-history.ts";
import type { LedgerTables } from "../../sql/dialect/ledger-tables.ts";

/**
 * The migration at index N leads from version N to version N + 1. Never change a released migration: add a new one.
 */
export const MIGRATIONS: readonly ((tables: LedgerTables) => string)[] = [
  ({ groups, services, leases, runs }) => `
    CREATE TABLE ${groups} (
      scope text NOT NULL,
      user_group_id text COLLATE "C" NOT NULL,
      -- Of the tenant's row: a bucket of 4096 by its id, and a digest of what it held.
      bucket smallint NOT NULL,
      row_digest bigint,
      -- The group as the service last confirmed it; null while its creation is under way.
      fingerprint text,
      confirmed text,
      service_name text,
      token_fingerprint text,
      -- 'adopted' or 'updated': the call whose answer could not show that mapping and properties are these.
      unverified text,
      -- Set before a call, cleared with its outcome.
      intent text,
      intent_at timestamptz,
      missing_since timestamptz,
      failure_fingerprint text,
      failure_code text,
      failure_message text,
      failure_count integer NOT NULL DEFAULT 0,
      retry_at timestamptz,
      created_at timestamptz NOT NULL,
      updated_at timestamptz NOT NULL,
      PRIMARY KEY (scope, user_group_id)
    );
    CREATE TABLE ${services} (
      scope text PRIMARY KEY,
      base_url text NOT NULL,
      team_id bigint,
      updates boolean
    );
    CREATE TABLE ${leases} (
      scope text PRIMARY KEY,
      epoch bigint NOT NULL,
      holder text NOT NULL,
      acquired_at timestamptz NOT NULL,
      expires_at timestamptz NOT NULL
    );
    CREATE TABLE ${runs} (
      id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
      scope text NOT NULL,
      command text NOT NULL,
      started_at timestamptz NOT NULL,
      finished_at timestamptz,
      outcome text,
      counts text,
      requests bigint,
      error_code text,
      error_message text
    );
    CREATE INDEX ON ${runs} (scope, id);`,
  ({ groups, evidence, removals }) => `
    ALTER TABLE ${groups}
      -- What a DELETE has to name as data_source_provided_id.
      ADD COLUMN data_source_id text,
      -- How its tenant is gone, and what the healthy clock said when it was first seen to be.
      ADD COLUMN missing_kind text,
      ADD COLUMN missing_ms bigint,
      ADD COLUMN missing_reads bigint,
      -- 'delete' or 'replace': due, and waiting for approval.
      ADD COLUMN held text,
      -- Fingerprint of the group that the intent means to make; null where it follows one that meant another.
      ADD COLUMN intent_fingerprint text;
    -- Until now nothing told whether the time since then was healthy: it counts anew.
    UPDATE ${groups} SET missing_since = NULL WHERE missing_since IS NOT NULL;
    CREATE INDEX ON ${groups} (scope, user_group_id) WHERE held IS NOT NULL;
    CREATE TABLE ${evidence} (
      scope text PRIMARY KEY,
      source text,
      healthy_ms bigint NOT NULL,
      healthy_reads bigint NOT NULL,
      healthy_at timestamptz,
      holding boolean NOT NULL,
      approvals integer NOT NULL
    );
    CREATE TABLE ${removals} (
      id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
      scope text NOT NULL,
      removed_at timestamptz NOT NULL,
      user_group_id text COLLATE "C" NOT NULL,
      -- 'delete' or 'replace'
      kind text NOT NULL
    );
    CREATE INDEX ON ${removals} (scope, removed_at);`,
  ({ groups, formerTokens }) => `
    -- Since when its token is the live one, as far as the ledger has seen.
    ALTER TABLE ${groups} ADD COLUMN token_since timestamptz;
    UPDATE ${groups} SET token_since = created_at WHERE token_fingerprint IS NOT NULL;
    -- Every sync asks for the oldest tokens. No column of an intent may be in this index: to begin a change and
    -- to end it would then cost an entry each.
    CREATE INDEX ON ${groups} (scope, token_since, user_group_id) WHERE token_since IS NOT NULL;
    CREATE TABLE ${formerTokens} (
      id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
      scope text NOT NULL,
      user_group_id text COLLATE "C" NOT NULL,
      token_fingerprint text NOT NULL,
      live_since timestamptz,
      live_until timestamptz NOT NULL
    );
    CREATE INDEX ON ${formerTokens} (scope, user_group_id);
    CREATE INDEX ON ${formerTokens} (scope, live_until);`,
  ({ groups, runs }) => `
    -- When the first of its failures in a row was.
    ALTER TABLE ${groups} ADD COLUMN failing_since timestamptz;
    UPDATE ${groups} SET failing_since = updated_at WHERE failure_count > 0;
    CREATE INDEX ON ${runs} (scope, started_at);`,
  ({ tokenDestinations }) => `
    -- Of a scope whose places have all of its tokens.
    CREATE TABLE ${tokenDestinations} (
      scope text PRIMARY KEY,
      -- A list of texts, as JSON.
      places text NOT NULL
    );`,
  ({ identity, groups, evidence, tokenDestinations }) => `
    -- By which an owner's mark tells this set of tables from another: one row, whatever the number of scopes.
    CREATE TABLE ${identity} (
      id text PRIMARY KEY
    );
    INSERT INTO ${identity} (id) VALUES ('${randomUUID()}');
    -- Fingerprint of a token that the service has told for this group, and that belongs to another one.
    ALTER TABLE ${groups} ADD COLUMN shared_token text;
    -- Until now, a failure was a change's, a rotation's or that of a token that is not in every store. Each has its own place.
    ALTER TABLE ${groups}
      ADD COLUMN rotation_code text,
      ADD COLUMN rotation_message text,
      ADD COLUMN rotation_count integer NOT NULL DEFAULT 0,
      ADD COLUMN rotation_retry_at timestamptz,
      ADD COLUMN rotation_since timestamptz,
      ADD COLUMN storing_code text,
      ADD COLUMN storing_message text,
      ADD COLUMN storing_count integer NOT NULL DEFAULT 0,
      ADD COLUMN storing_retry_at timestamptz,
      ADD COLUMN storing_since timestamptz;
    UPDATE ${groups} SET failing_since = updated_at WHERE failure_count > 0 AND failing_since IS NULL;
    UPDATE ${groups} SET
      rotation_code = failure_code, rotation_message = failure_message, rotation_count = failure_count,
      rotation_retry_at = retry_at, rotation_since = failing_since,
      failing_since = NULL, failure_fingerprint = NULL, failure_code = NULL, failure_message = NULL,
      failure_count = 0, retry_at = NULL
    WHERE failure_fingerprint = 'rotated';
    UPDATE ${groups} SET
      storing_code = failure_code, storing_message = failure_message, storing_count = failure_count,
      storing_retry_at = retry_at, storing_since = failing_since,
      failing_since = NULL, failure_fingerprint = NULL, failure_code = NULL, failure_message = NULL,
      failure_count = 0, retry_at = NULL
    WHERE failure_fingerprint = 'not_everywhere';
    CREATE INDEX ON ${groups} (scope, token_fingerprint) WHERE token_fingerprint IS NOT NULL;
    CREATE INDEX ON ${groups} (scope, shared_token) WHERE shared_token IS NOT NULL;
    -- By which what is held is approved. The codes of older programs are good no longer: the next sync makes one.
    ALTER TABLE ${evidence} ADD COLUMN held_code text;
    UPDATE ${evidence} SET held_code = '${STALE_CODE}'
    WHERE scope IN (SELECT scope FROM ${groups} WHERE held IS NOT NULL);
    ALTER TABLE ${evidence} DROP COLUMN holding;
    -- The table that the source led to, with its schema.
    ALTER TABLE ${evidence} ADD COLUMN source_table text;
    -- The tables that tokens were last written to, as JSON. There may be such where no place has all of them.
    ALTER TABLE ${tokenDestinations} ADD COLUMN token_tables text, ALTER COLUMN places DROP NOT NULL;`,
  ({ leases, requests }) => `
    ALTER TABLE ${leases}
      -- The epoch of a holder that hands the lease over on request, and how long one of its calls can take.
      ADD COLUMN hand_over_epoch bigint,
      ADD COLUMN call_ms bigint;
    -- What other processes ask of the holder.
    CREATE TABLE ${requests} (
      scope text NOT NULL,
      id text NOT NULL,
      -- 'lease' or 'tenant'
      kind text NOT NULL,
      -- Null if the lease is asked for.
      user_group_id text COLLATE "C",
      requested_by text NOT NULL,
      requested_at timestamptz NOT NULL,
      expires_at timestamptz NOT NULL,
      -- The answer for a tenant.
      answered_at timestamptz,
      outcome text,
      code text,
      message text,
      PRIMARY KEY (scope, id)
    );
    CREATE INDEX ON ${requests} (scope, kind, requested_at);`,
  ({ rejections }) => `
    -- The rows that no group can be computed from. A sync that sees all rows fills it.
    CREATE TABLE ${rejections} (
      scope text NOT NULL,
      -- Empty: these rows have no usable id, or are beyond the number that is remembered singly.
      user_group_id text COLLATE "C" NOT NULL,
      code text NOT NULL,
      bucket smallint NOT NULL,
      message text NOT NULL,
      row_count bigint NOT NULL,
      since timestamptz NOT NULL,
      PRIMARY KEY (scope, user_group_id, code)
    );`,
  ({ canaries }) => `
    -- The group that a probe makes at the service and deletes again: the row is there from before its first call until
    -- it is deleted for certain.
    CREATE TABLE ${canaries} (
      scope text PRIMARY KEY,
      user_group_id text COLLATE "C" NOT NULL,
      base_url text NOT NULL,
      begun_at timestamptz NOT NULL
    );`,
  ({ tokenDestinations }) => `
    -- When a run began that read every token in every store.
    ALTER TABLE ${tokenDestinations} ADD COLUMN verified_at timestamptz;`,
  ({ groups, evidence }) => `
    -- When a GET last told this group's name and token.
    ALTER TABLE ${groups} ADD COLUMN verified_at timestamptz;
    UPDATE ${groups} SET verified_at = updated_at WHERE fingerprint IS NOT NULL;
    -- A refresh asks first for the group that was asked for longest ago.
    CREATE INDEX ON ${groups} (scope, verified_at, user_group_id) WHERE verified_at IS NOT NULL;
    -- Until then, the operator has approved that refreshes make groups again.
    ALTER TABLE ${evidence} ADD COLUMN refresh_approved_at timestamptz;`,
  ({ groups }) => `
    -- A sync reads the groups of the buckets in which rows have changed. The scope is the last column: as long as a new
    -- table has no statistics, PostgreSQL may prefer an index that begins with the scope to the primary key, and read the
    -- whole scope to find one group.
    CREATE INDEX ON ${groups} (bucket, scope);
    -- Finds the updates that are verified once the service is seen to update.
    CREATE INDEX ON ${groups} (scope, user_group_id) WHERE unverified = 'updated';`,
  ({ services }) => `
    -- When the service last answered well, to the minute.
    ALTER TABLE ${services} ADD COLUMN answered_at timestamptz;`,
  ({ services }) => `
    -- Whether a probe has found out "updates", which single groups then don't overrule.
    ALTER TABLE ${services} ADD COLUMN updates_probed boolean NOT NULL DEFAULT false;`,
];
