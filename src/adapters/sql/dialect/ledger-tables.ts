import type { Identifiers } from "../connection/identifiers.ts";

/** The version of the tables that the ledger's statements are written for. Builds from before the first release had smaller ones. */
export const LEDGER_VERSION = 101;

export interface LedgerLocation {
  /** Only on PostgreSQL; left out: the user's default schema. */
  readonly schema?: string | undefined;
  readonly tablePrefix: string;
  /** Roles that may own the tables, beside the user and its groups; left out: none. */
  readonly owners?: readonly string[];
}

/** Names of the tables without the prefix. */
const NAMES = {
  migrations: "migrations",
  groups: "groups",
  scopes: "scopes",
  leases: "leases",
  runs: "runs",
  removals: "removals",
  formerTokens: "former_tokens",
  identity: "identity",
  requests: "requests",
  rejections: "rejections",
} as const;

/** A text for each of the ledger's tables, such as its quoted name. */
export type LedgerTables = Readonly<Record<keyof typeof NAMES, string>>;

export const TABLE_NAMES = Object.keys(NAMES) as readonly (keyof LedgerTables)[];

/** The names of the tables, unquoted and without the schema, and who may own the tables. */
export const ownedTables = ({ tablePrefix, owners = [] }: LedgerLocation) => ({
  tables: Object.values(NAMES).map((name) => tablePrefix + name),
  trusted: owners,
});

export function ledgerTables(
  { quoteName }: Pick<Identifiers, "quoteName">,
  { schema, tablePrefix }: LedgerLocation,
): LedgerTables {
  const inSchema = schema === undefined ? "" : `${quoteName(schema)}.`;
  const quoted = Object.entries(NAMES).map(([key, name]) => [key, inSchema + quoteName(tablePrefix + name)]);
  return Object.fromEntries(quoted) as LedgerTables;
}

/** The types of the ledger's columns that the databases have different words for. */
export interface LedgerTypes {
  /** A number that the database gives to each row. */
  readonly key: string;
  readonly scope: string;
  /** Compared by its bytes, 512 at most: case, accents and trailing blanks make a difference. */
  readonly id: string;
  /** A text of groupsync's own, a hundred characters at most. */
  readonly word: string;
  readonly longText: string;
  readonly time: string;
}

/**
 * What stands between the parentheses of each CREATE TABLE. After the first release, a change of these tables needs a migration. A
 * run of the older groupsync may be under way meanwhile, so its statements have to work with the new tables.
 */
export const ledgerColumns = ({ key, scope, id, word, longText, time }: LedgerTypes): LedgerTables => ({
  migrations: `
    version integer NOT NULL PRIMARY KEY,
    applied_at ${time} NOT NULL`,
  // By which an owner's mark tells this set of tables from another: one row, whatever the number of scopes.
  identity: `
    id ${word} NOT NULL PRIMARY KEY`,
  // The record of a group: see core/record. "state" has all that no statement selects, sums or sorts by.
  groups: `
    scope ${scope} NOT NULL,
    user_group_id ${id} NOT NULL,
    -- Of the tenant's row: a bucket of 4096 by its id, and a digest of what it held.
    bucket smallint NOT NULL,
    row_digest bigint,
    -- The group as the service last confirmed it; null while its creation is under way.
    fingerprint ${word},
    confirmed ${longText},
    -- By which its name is found. Follows from the name.
    name_key ${id},
    -- 'adopted' or 'updated': the call whose answer could not show that mapping and properties are these.
    unverified ${word},
    -- When a GET last told this group's name and token; in 1970 if the group is in doubt. Follows from the state.
    verified_at ${time},
    token_fingerprint ${word},
    -- Since when its token is the live one, as far as the ledger has seen.
    token_since ${time},
    -- Since when somebody wants a new token.
    wanted_since ${time},
    wanted_by ${word},
    -- Fingerprint of a token that the service has told for this group, and that belongs to another one.
    shared_token ${word},
    -- Set before a call, cleared with its outcome.
    intent ${word},
    intent_at ${time},
    -- How its tenant is gone, and since when. 'canary' if a probe has made the group.
    gone ${word},
    gone_since ${time},
    -- 'delete' or 'replace': due, and waiting for approval.
    held ${word},
    -- What is not done. Follows from the others, as the next columns do.
    owes ${word},
    -- 0 if a plan has to read the group even if its row is unchanged; 2: only if the service takes no updates.
    at_rest smallint NOT NULL,
    -- Since when the first of its failures lasts.
    failing_since ${time},
    state ${longText} NOT NULL,
    PRIMARY KEY (scope, user_group_id)`,
  // The token that a group had before, and when it was live.
  formerTokens: `
    id ${key} NOT NULL PRIMARY KEY,
    scope ${scope} NOT NULL,
    user_group_id ${id} NOT NULL,
    token_fingerprint ${word} NOT NULL,
    live_since ${time},
    live_until ${time} NOT NULL`,
  removals: `
    id ${key} NOT NULL PRIMARY KEY,
    scope ${scope} NOT NULL,
    removed_at ${time} NOT NULL,
    user_group_id ${id} NOT NULL,
    -- 'delete', 'skip_grace', 'replace', or what a refresh found: 'gone' if somebody else had deleted it, 'token' if it had another one.
    kind ${word} NOT NULL`,
  // The rows that no group can be computed from. A sync that sees all rows fills it.
  rejections: `
    scope ${scope} NOT NULL,
    -- Empty: these rows have no usable id, or are beyond the number that is remembered singly.
    user_group_id ${id} NOT NULL,
    code ${word} NOT NULL,
    bucket smallint NOT NULL,
    message ${longText} NOT NULL,
    row_count bigint NOT NULL,
    since ${time} NOT NULL,
    PRIMARY KEY (scope, user_group_id, code)`,
  // What is known beside groups, runs and the lease: see ports/ledger/scope.ts.
  scopes: `
    scope ${scope} NOT NULL PRIMARY KEY,
    -- The service that has the groups; null as long as it has never answered well.
    base_url text,
    team_id bigint,
    -- JSON. It has all that no statement selects by.
    state ${longText} NOT NULL`,
  leases: `
    scope ${scope} NOT NULL PRIMARY KEY,
    epoch bigint NOT NULL,
    holder text NOT NULL,
    acquired_at ${time} NOT NULL,
    expires_at ${time} NOT NULL,
    -- How many writes were committed so far, and before this holder; on which server the last one was.
    writes bigint NOT NULL DEFAULT 0,
    writes_before bigint NOT NULL DEFAULT 0,
    server text,
    -- How long one call of a holder that hands the lease over on request can take.
    hand_over_ms integer`,
  // What other processes ask of the holder.
  requests: `
    scope ${scope} NOT NULL,
    id ${word} NOT NULL,
    -- The tenant to serve; null if the lease is asked for.
    user_group_id ${id},
    requested_by text NOT NULL,
    requested_at ${time} NOT NULL,
    expires_at ${time} NOT NULL,
    PRIMARY KEY (scope, id)`,
  runs: `
    id ${key} NOT NULL PRIMARY KEY,
    scope ${scope} NOT NULL,
    command text NOT NULL,
    started_at ${time} NOT NULL,
    finished_at ${time},
    outcome ${word},
    counts text,
    requests bigint,
    error_code ${word},
    error_message ${longText}`,
});
