import { randomUUID } from "node:crypto";
import { SyncError } from "../../core/failure/sync-error.ts";
import type { Connections } from "../sql/connection/connections.ts";
import { MIGRATION } from "../sql/connection/wait-limits.ts";
import { LEDGER_VERSION, type LedgerLocation, type LedgerTables } from "../sql/dialect/ledger-tables.ts";
import { DURABLY } from "./connection/durability.ts";
import { quoteName } from "./connection/identifiers.ts";
import { insistOnSchema } from "./connection/rights.ts";

/**
 * After the first release, a change of these tables needs a migration, for MySQL too. A run of the older groupsync may be under way
 * meanwhile, so its statements have to work with the new tables.
 */
const definitions = (tables: LedgerTables): string => `
  -- By which an owner's mark tells this set of tables from another: one row, whatever the number of scopes.
  CREATE TABLE ${tables.identity} (
    id text PRIMARY KEY
  );
  INSERT INTO ${tables.identity} (id) VALUES ('${randomUUID()}');

  -- The record of a group: see core/record. "state" has all that no statement selects, sums or sorts by.
  CREATE TABLE ${tables.groups} (
    scope text NOT NULL,
    user_group_id text COLLATE "C" NOT NULL,
    -- Of the tenant's row: a bucket of 4096 by its id, and a digest of what it held.
    bucket smallint NOT NULL,
    row_digest bigint,
    -- The group as the service last confirmed it; null while its creation is under way.
    fingerprint text,
    confirmed text,
    -- 'adopted' or 'updated': the call whose answer could not show that mapping and properties are these.
    unverified text,
    -- When a GET last told this group's name and token; in 1970 if the group is in doubt. Follows from the state.
    verified_at timestamptz,
    token_fingerprint text,
    -- Since when its token is the live one, as far as the ledger has seen.
    token_since timestamptz,
    -- Since when somebody wants a new token.
    wanted_since timestamptz,
    wanted_by text,
    -- Fingerprint of a token that the service has told for this group, and that belongs to another one.
    shared_token text,
    -- Set before a call, cleared with its outcome.
    intent text,
    intent_at timestamptz,
    -- How its tenant is gone, and since when. 'canary' if a probe has made the group.
    gone text,
    gone_since timestamptz,
    -- 'delete' or 'replace': due, and waiting for approval.
    held text,
    -- What is not done. Follows from the others, as the next columns do.
    owes text,
    -- 0 if a plan has to read the group even if its row is unchanged; 2: only if the service takes no updates.
    at_rest smallint NOT NULL,
    -- Since when the first of its failures lasts.
    failing_since timestamptz,
    state text NOT NULL,
    PRIMARY KEY (scope, user_group_id)
  );
  CREATE INDEX ON ${tables.groups} (scope, user_group_id) WHERE held IS NOT NULL;
  -- Every sync asks for the oldest tokens. No column of an intent may be in this index: to begin a change and
  -- to end it would then cost an entry each.
  CREATE INDEX ON ${tables.groups} (scope, token_since, user_group_id) WHERE token_since IS NOT NULL;
  CREATE INDEX ON ${tables.groups} (scope, token_since, user_group_id) WHERE wanted_since IS NOT NULL;
  CREATE INDEX ON ${tables.groups} (scope, token_fingerprint) WHERE token_fingerprint IS NOT NULL;
  CREATE INDEX ON ${tables.groups} (scope, shared_token) WHERE shared_token IS NOT NULL;
  -- A refresh asks first for the group that was asked for longest ago.
  CREATE INDEX ON ${tables.groups} (scope, verified_at, user_group_id) WHERE verified_at IS NOT NULL;
  -- A sync reads the groups of the buckets in which rows have changed. The scope is the last column: as long as a new
  -- table has no statistics, PostgreSQL may prefer an index that begins with the scope to the primary key, and read
  -- the whole scope to find one group.
  CREATE INDEX ON ${tables.groups} (bucket, scope);

  -- The token that a group had before, and when it was live.
  CREATE TABLE ${tables.formerTokens} (
    id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    scope text NOT NULL,
    user_group_id text COLLATE "C" NOT NULL,
    token_fingerprint text NOT NULL,
    live_since timestamptz,
    live_until timestamptz NOT NULL
  );
  CREATE INDEX ON ${tables.formerTokens} (scope, user_group_id);
  CREATE INDEX ON ${tables.formerTokens} (scope, live_until);
  CREATE INDEX ON ${tables.formerTokens} (scope, token_fingerprint);

  CREATE TABLE ${tables.removals} (
    id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    scope text NOT NULL,
    removed_at timestamptz NOT NULL,
    user_group_id text COLLATE "C" NOT NULL,
    -- 'delete', 'skip_grace', 'replace', or what a refresh found: 'gone' if somebody else had deleted it, 'token' if it had another one.
    kind text NOT NULL
  );
  CREATE INDEX ON ${tables.removals} (scope, removed_at);

  -- The rows that no group can be computed from. A sync that sees all rows fills it.
  CREATE TABLE ${tables.rejections} (
    scope text NOT NULL,
    -- Empty: these rows have no usable id, or are beyond the number that is remembered singly.
    user_group_id text COLLATE "C" NOT NULL,
    code text NOT NULL,
    bucket smallint NOT NULL,
    message text NOT NULL,
    row_count bigint NOT NULL,
    since timestamptz NOT NULL,
    PRIMARY KEY (scope, user_group_id, code)
  );

  -- What is known beside groups, runs and the lease: see ports/ledger/scope.ts.
  CREATE TABLE ${tables.scopes} (
    scope text PRIMARY KEY,
    -- The service that has the groups; null as long as it has never answered well.
    base_url text,
    team_id bigint,
    -- JSON. It has all that no statement selects by.
    state text NOT NULL
  );

  CREATE TABLE ${tables.leases} (
    scope text PRIMARY KEY,
    epoch bigint NOT NULL,
    holder text NOT NULL,
    acquired_at timestamptz NOT NULL,
    expires_at timestamptz NOT NULL,
    -- How many writes were committed so far, and before this holder; on which server the last one was.
    writes bigint NOT NULL DEFAULT 0,
    writes_before bigint NOT NULL DEFAULT 0,
    server text,
    -- How long one call of a holder that hands the lease over on request can take.
    hand_over_ms integer
  );

  -- What other processes ask of the holder.
  CREATE TABLE ${tables.requests} (
    scope text NOT NULL,
    id text NOT NULL,
    -- The tenant to serve; null if the lease is asked for.
    user_group_id text COLLATE "C",
    requested_by text NOT NULL,
    requested_at timestamptz NOT NULL,
    expires_at timestamptz NOT NULL,
    PRIMARY KEY (scope, id)
  );
  CREATE UNIQUE INDEX ON ${tables.requests} (scope, user_group_id);

  CREATE TABLE ${tables.runs} (
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
  CREATE INDEX ON ${tables.runs} (scope, id);
  CREATE INDEX ON ${tables.runs} (scope, started_at);`;

/** Creates the ledger's tables, in one transaction. */
export async function createLedger(
  database: Connections,
  tables: LedgerTables,
  { schema, tablePrefix }: LedgerLocation,
): Promise<void> {
  const { migrations } = tables;
  await insistOnUtf8(database);
  await database.transaction(
    DURABLY,
    async (connection) => {
      await connection.query("SELECT pg_advisory_xact_lock(hashtext($1))", [`groupsync ${tablePrefix}`]);
      if (schema !== undefined) {
        // Even if the schema exists, IF NOT EXISTS would ask for the right to create schemas.
        const schemas = await connection.query(
          "SELECT 1 FROM pg_catalog.pg_namespace AS n WHERE n.nspname = $1",
          [schema],
        );
        if (schemas.length === 0) await connection.query(`CREATE SCHEMA ${quoteName(schema)}`);
      }
      await connection.query(
        `CREATE TABLE IF NOT EXISTS ${migrations}
         (version integer PRIMARY KEY, applied_at timestamptz NOT NULL DEFAULT now())`,
      );
      // Another program may have been quicker.
      const versions = await connection.query(`SELECT version FROM ${migrations}`);
      if (versions.length > 0) return;
      await connection.query(definitions(tables));
      await connection.query(`INSERT INTO ${migrations} (version) VALUES ($1)`, [LEDGER_VERSION]);
    },
    MIGRATION,
  );
}

/** Rejects unless the encoding is UTF8: only then does `COLLATE "C"` order by the UTF-8 bytes, and every id fits. */
async function insistOnUtf8(database: Connections): Promise<void> {
  const [row] = await database.query<{ server_encoding: string }>("SHOW server_encoding");
  if (row?.server_encoding === "UTF8") return;
  throw new SyncError("LEDGER_ENCODING", `the ledger's database is encoded in ${row?.server_encoding}`, {
    hint: "name a database with the encoding UTF8 in ledger.url",
  });
}

/** Rejects if this user could not create the ledger's tables, or could not write to existing ones. Changes nothing. */
export async function inspectLedger(
  database: Connections,
  { migrations, ...tables }: LedgerTables,
  { schema }: LedgerLocation,
  isThere: boolean,
): Promise<void> {
  if (!isThere) {
    await insistOnUtf8(database);
    const purpose = { code: "LEDGER_UNAVAILABLE", what: "the ledger's tables" } as const;
    await insistOnSchema(database, schema, purpose, { mayBeCreated: true });
    return;
  }
  const [refused] = await database.query<{ user: string; name: string }>(
    `SELECT current_user AS "user", t.name
     FROM unnest($1::text[]) AS t (name), unnest($2::text[]) AS r (privilege)
     WHERE to_regclass(t.name) IS NOT NULL AND NOT has_table_privilege(t.name, r.privilege) LIMIT 1`,
    [Object.values(tables), RIGHTS],
  );
  if (!refused) return;
  const { user, name } = refused;
  throw new SyncError("LEDGER_UNAVAILABLE", `user ${user} may not write to the ledger's table ${name}`, {
    hint: `GRANT ${RIGHTS.join(", ")} ON ${Object.values(tables).join(", ")} TO ${quoteName(user)}`,
  });
}

const RIGHTS = ["SELECT", "INSERT", "UPDATE", "DELETE"];
