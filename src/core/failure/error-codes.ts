// biome-ignore-all lint/suspicious/noTemplateCurlyInString: they are the config's references to variables and files.

/** What a code means, and what to do about it. In Markdown, whose links lead from the folder docs/. */
type Explained = readonly [meaning: string, action: string];

/**
 * Every code that an operator can get to see, by the part of the work that it is of. docs/errors.md, `groupsync help CODE` and all
 * that names a remedy have their texts from here.
 */
export const ERROR_CODES = {
  "Rows of the source": {
    ID_NULL: ["the row has no id", "fill the id column, or exclude the row with `source.where`"],
    ID_EMPTY: ["the id is an empty string", "fill the id column, or exclude the row with `source.where`"],
    ID_TOO_LONG: ["the id has more than 512 bytes", "shorten the id"],
    ID_UNUSABLE: [
      "the id is no text, integer or uuid, or has a character that JSON can't represent",
      "correct the id, or cast the id to text in `source.query`",
    ],
    ID_DUPLICATE: [
      "several rows have this id, so all of them are rejected",
      "make the id unique in the source",
    ],
    VALUE_NULL: [
      "a column that `group` needs is null",
      "fill the column. Or add a [`default`](rows.md#rules) to the column's rule, or `optional: true` to a property's template",
    ],
    VALUE_EMPTY: [
      "the name, or a value of the mapping, is empty or blank",
      "fill the column, or let the row wait with [`source.ready_when`](rows.md#tenants-that-arent-ready)",
    ],
    VALUE_UNUSABLE: [
      "`group` can't use the column's value, or JSON can't represent the value",
      "correct the value, or use another column",
    ],
    GROUP_TOO_LARGE: ["the group's JSON is larger than 1 MiB", "put less into `properties`"],
  },
  "Single groups": {
    REFUSED: [
      "the service refuses the call for this group",
      "compare the group's name, mapping and properties with a group that works",
    ],
    NOT_UPDATED: [
      "the service's answer has another name than the row, or the service never changes existing groups",
      "compare the names. If [`groupsync probe`](service.md#probe-the-service) finds that a GET never changes a group, set `service.update` to `replace` or `never`",
    ],
    NOT_REPLACED: [
      "the service confirmed the group's deletion, but still has the group",
      "ask the service's operators",
    ],
    TOKEN_NOT_STORED: [
      "a token store refuses the token. A rotation with this code has sent no POST, so the old token works",
      "check the token column's type and constraints. Does the token table have the tenant's row?",
    ],
    NEW_TOKEN_NOT_STORED: [
      "groupsync could not store the new token, and the old token is dead: the tenant is locked out",
      "[fix the token store](runbooks.md#a-tenant-is-locked-out) now. Don't kill a run that still has the token in memory. After the run, `groupsync sync --only ID` gets the token from the service",
    ],
    NOT_ROTATED: [
      "groupsync did not rotate this token, because it could not store another group's new token",
      "fix the token store. The next sync rotates this token",
    ],
    TOKEN_SHARED: [
      "the service gave two groups the same token. groupsync doesn't store the token, and leaves both groups alone",
      "ask the service's operators to give one group another token",
    ],
    TOKEN_NOT_EVERYWHERE: [
      "one of [several token stores](tokens.md#several-stores) refuses the token",
      "fix that store. The next sync writes the token to it",
    ],
    TOKEN_UNSURE: [
      "a process died while it was storing this token, and the write may still succeed",
      "nothing: the next sync checks the stored token",
    ],
    UNSETTLED: [
      "the outcome of an earlier call for this group is unknown",
      "if the row is rejected or not ready, correct the row. The next sync sends a GET",
    ],
    TOKEN_NOT_REMOVED: [
      "a token store still has the token of a deleted group, for example because the token column is NOT NULL",
      "fix what the message names. The next sync removes the token",
    ],
    IN_DOUBT: [
      "the ledger went back in time, or somebody ran `sync --refresh`. Since then, groupsync has sent no GET for this group",
      "the next sync [sends this GET](recovery.md#a-database-fails-over). If the row is rejected, correct the row. `sync --refresh --cancel` cancels a refresh",
    ],
    BAD_RESPONSE: [
      "the answer breaks the rules of [the interface](service.md#what-the-interface-must-do), for example by a redirect",
      "check that `service.base_url` is the service itself, and not a login page",
    ],
    TIMEOUT: [
      "the service did not answer within `service.timeout`",
      "raise `service.timeout`, or ask the service's operators",
    ],
    CONNECTION_LOST: [
      "the connection broke before the answer came",
      "check the proxies between groupsync and the service",
    ],
    SERVICE_ERROR: [
      "the service answered with a 5xx status",
      "give the service's operators the time and the id",
    ],
    THROTTLED: [
      "the service keeps answering 429 for this group, but not for others",
      "nothing. If the error persists, lower `service.concurrency`",
    ],
    OVERLOADED: [
      "the service, or a proxy in front of it, keeps answering 503 for this group",
      "nothing. If the error persists, lower `service.concurrency`",
    ],
  },
  "Something is held": {
    DELETIONS_HELD: [
      "more deletions and replacements are due than `deletion.limit` allows",
      "[check whether these tenants are really gone](runbooks.md#deletions-are-held). `groupsync plan` lists them, and shows how to approve their removal",
    ],
    SOURCE_INCONCLUSIVE: [
      "the source returned no valid row, so no tenant counts as gone",
      "[repair `source`](deletions.md#bad-evidence). With one valid row, deletions go on",
    ],
    REFRESH_HELD: [
      "a refresh found that somebody deleted or rotated more groups than `deletion.limit` allows",
      "[find out who changed the groups](runbooks.md#the-refresh-is-held). `groupsync status` shows the command that continues the refresh",
    ],
    APPROVAL_MISMATCH: [
      "the code that you gave approves another set of groups, or was already used",
      "use the code in `groupsync status`",
    ],
  },
  "The clocks": {
    CLOCK_DIFFERS: [
      "the clocks of groupsync's host and the ledger's database differ by more than five minutes, so groupsync [deletes and replaces nothing](deletions.md#the-grace-period)",
      "correct the wrong clock, preferably by NTP",
    ],
  },
  "The run": {
    KEY_REFUSED: [
      "the service refuses the API key for every group",
      "check that `service.api_key` is valid and of the right environment",
    ],
    INTERMEDIARY_REFUSED: [
      "a proxy, CDN or firewall refuses every GET with a body (OWASP rule 920170)",
      "connect to the service directly, or allow GETs with a body to `/api/user`",
    ],
    SERVICE_UNAVAILABLE: [
      "groupsync can't reach the service, or [nearly every call failed](#when-a-run-gives-up)",
      "[check](runbooks.md#the-service-is-slow-or-down) `service.base_url`, DNS and TLS",
    ],
    UNREACHABLE: [
      "groupsync can't connect to the service",
      "[check](runbooks.md#the-service-is-slow-or-down) `service.base_url`, DNS and TLS",
    ],
    TEAM_CHANGED: [
      "the API key belongs to another team than the ledger's groups",
      "use a key of the groups' team. Another team needs its own `name` and place for tokens",
    ],
    SERVICE_CHANGED: [
      "`service.base_url` is not the address in the ledger",
      "restore the old address. Another service needs its own `name` and place for tokens",
    ],
    SOURCE_UNAVAILABLE: [
      "groupsync can't read the source",
      "run [`groupsync check`](runbooks.md#the-database-went-away)",
    ],
    SOURCE_ORDER: [
      "the database did not sort the ids by their bytes",
      "report this bug with the column's type and collation",
    ],
    DATABASE_TOO_OLD: [
      "the database server is too old",
      "[upgrade the server](databases.md#what-it-runs-on)",
    ],
    LEDGER_UNAVAILABLE: [
      "groupsync can't reach or write the ledger",
      "run [`groupsync check`](runbooks.md#the-database-went-away)",
    ],
    LEDGER_TOO_NEW: [
      "a newer version of groupsync has upgraded the ledger",
      "[run the newer version](runbooks.md#upgrades)",
    ],
    LEDGER_OUTDATED: [
      "a version from before the first release made the ledger",
      "let that version delete the groups of former tenants. Then set a new `ledger.table_prefix` and [run `groupsync sync`](runbooks.md#upgrades)",
    ],
    LEDGER_ENCODING: [
      "the encoding of the ledger's database is not UTF8",
      "put the ledger into a database in UTF8",
    ],
    TOKEN_STORE_UNAVAILABLE: [
      "groupsync can't reach a token store, or the store refuses every token",
      "run `groupsync check`, which names [the missing right](runbooks.md#the-database-went-away) or a problem of the [secret store](secret-stores.md#if-the-store-is-slow-or-refuses)",
    ],
    LEDGER_REWOUND: [
      "the ledger's database went back in time, or is on another server",
      "run `groupsync sync`. If you moved the database [without loss](recovery.md#a-database-fails-over), run `groupsync sync --acknowledge-switchover` instead",
    ],
    LEASE_HELD: [
      "another instance has the lease, or a daemon did not hand the lease over in time (exit code 5)",
      "wait. [`groupsync status` names the holder](runbooks.md#the-lease-is-held). If the holder is gone and a clock was set back, run `UPDATE groupsync.ledger_leases SET expires_at = '1970-01-02' WHERE scope = 'default'`, with your `ledger.table_prefix` and `name`",
    ],
    LEASE_LOST: [
      "the ledger's database or this machine hung for longer than the lease lasts",
      "nothing: the next sync completes the interrupted calls",
    ],
    LEASE_HANDED_OVER: [
      "a command asked the daemon for the lease",
      "nothing: the daemon goes on after that command",
    ],
    SCOPE_FORGOTTEN: [
      "somebody ran `forget` with the `name` of a running daemon",
      "stop the daemon, or restart it to [begin a new scope](environments.md#retire-a-scope)",
    ],
    INTERRUPTED: ["the run was told to stop", "nothing. After `forget`, do what the message says"],
    NO_TEMPORARY_SPACE: [
      "a plan doesn't fit into the temporary folder",
      "free space in that folder, or name another folder in `TMPDIR`",
    ],
    CANARY_REMAINS: [
      "`probe` could not delete the group that it made (exit code 3)",
      "[delete the group by hand](service.md#if-the-canary-remains). Then run `groupsync probe --forget ID`",
    ],
    INTERNAL: ["groupsync has a bug", "report the bug with the log"],
  },
  "The command line": {
    UNKNOWN_ID: [
      "the source and the ledger don't have this id (exit code 64)",
      "check the id's case and blanks. Does `source.where` leave the row out?",
    ],
    UNKNOWN_SCOPE: [
      "the ledger doesn't know the scope that `forget` names (exit code 64)",
      "choose a scope from the list in the message",
    ],
    TENANT_GONE: [
      "`sync --only` names a tenant that is gone (exit code 0)",
      "nothing: the message says what happens to the group",
    ],
    TENANT_PRESENT: [
      "`sync --skip-grace` names a tenant that still has a row (exit code 3)",
      "first delete the row, or flag it with `source.removed_when`",
    ],
    TENANT_RETURNED: [
      "after groupsync read the source, the row came back (exit code 0) or changed (exit code 3); the group stays",
      "nothing: the next sync checks again",
    ],
  },
  "The config": {
    CONFIG_INVALID: [
      "groupsync can't use values in the [config file](configuration.md) or in `GROUPSYNC_HTTP_LISTEN`",
      "correct each value as the report says",
    ],
    CONFIG_UNREADABLE: [
      "groupsync can't read the config file, or the file is larger than 256 KiB",
      "name the right file with `--config` or `GROUPSYNC_CONFIG`",
    ],
    CONFIG_TLS: [
      "a TLS setting is invalid, or would switch TLS off",
      "[correct the variable or parameter](security.md#tls) that the message names",
    ],
    CONFIG_NAME: [
      "the database doesn't allow this name for a table or column",
      "write `table` or `schema.table`, and put unusual names into double quotes",
    ],
    CONFIG_COLUMNS: [
      "a column is missing or has the wrong type, or the token table can't store tokens",
      "correct what the message lists",
    ],
    CONFIG_SOURCE: ["the database refuses the SQL in `source`", "correct the SQL"],
    CONFIG_TOKENS_OWNED: [
      "the stored tokens belong to another config or another ledger",
      "[use another place for tokens, or remove the ownership marker](runbooks.md#config_tokens_owned-the-tokens-belong-to-another-config)",
    ],
    CONFIG_TABLE_OWNER: [
      "on PostgreSQL, another role owns a table that groupsync writes to",
      "[find out who made the table](runbooks.md#config_table_owner-the-table-belongs-to-another-role). If you trust the owner, run the statement in the message",
    ],
    CONFIG_TABLE_MOVED: [
      "a table name in the unchanged config now leads to another table or owner",
      "[find out who changed the tables](runbooks.md#config_table_moved-the-same-config-leads-to-another-table). If it was you, do what the message says",
    ],
    CONFIG_SCOPE_SHARED: [
      "groups of this scope also belong to another scope in the same ledger",
      "give [this config](environments.md) another team's API key, or other ids",
    ],
    CONFIG_OTHER_SCOPE: [
      "somebody ran `forget --delete-groups` with the config of another scope",
      "name the scope's own config with `--config`",
    ],
    CONFIG_NEEDS_RESTART: [
      "the new config has another `name`, ledger or `http.listen`, so the daemon keeps the old config",
      "restart the daemon",
    ],
    CONFIG_DIRECTORY_UNSAFE: [
      "other users may write to the tokens' directory, or to a directory above it",
      "[repair the directory](secret-stores.md#files) as the message says",
    ],
    CONFIG_PACKAGE_MISSING: [
      "the client of the secret store isn't installed",
      "run the command in the message, in groupsync's folder",
    ],
    CONFIG_REGION_MISSING: [
      "no region is set for AWS Secrets Manager",
      "set the region in `tokens.region`, `AWS_REGION` or the profile",
    ],
    CONFIG_PROPOSAL: [
      "`init` finds no table with tenants, or the table in `--table` doesn't fit",
      "choose with `--table`, `--id` and `--group-name`, or create a view",
    ],
    CONFIG_NOT_WRITTEN: [
      "`init` could not write its files, or would have overwritten a file",
      "name another place with `--output`",
    ],
  },
  "The daemon": {
    HTTP_ADDRESS: [
      "the daemon can't listen on `http.listen`, and ends with exit code 1",
      "if another program uses the address, set another address, or `off`",
    ],
    NOTIFY_FAILED: [
      "groupsync can't reach `notify.webhook` or `notify.heartbeat`, or the receiver refuses the message. Syncs go on",
      "check the address",
    ],
    SHUTDOWN_TIMEOUT: [
      "`shutdown_timeout` ended before all work was done (exit code 1)",
      "nothing: the next start completes the work. Set `shutdown_timeout` higher than `service.timeout`",
    ],
    PROCESS_WARNING: ["Node.js or a package printed a warning", "an upgrade usually helps"],
  },
  "Single tenants": {
    NOT_READY: [
      "the row doesn't fulfil `source.ready_when`",
      "nothing: groupsync serves the tenant when the row is ready",
    ],
    NEEDS_FULL_SYNC: [
      "the group must be replaced, and only full syncs replace groups",
      "nothing: the next full sync replaces the group within `deletion.limit`",
    ],
    OUTDATED: [
      "the row has changed, but `service.update: never` leaves the group as it is",
      "nothing, or choose another `service.update`",
    ],
    TOO_MANY_TENANTS: [
      "10,000 other tenants already wait for the daemon",
      "nothing: the next full sync finds the tenant",
    ],
    LOOKUPS_NOT_INDEXED: [
      "the database reads the whole source to find one tenant, so groupsync limits such lookups",
      "create an index on the id column",
    ],
    TOO_MANY_LOOKUPS: ["the status page looks up too many tenants", "wait a few seconds"],
    LOOKUP_TOO_SLOW: ["the status page's lookup took too long", "run `groupsync explain ID`"],
    CHANGES_NOT_INDEXED: [
      "the database reads the whole source to find the newest rows, so groupsync looks less often",
      "create the index that the message names",
    ],
    CHANGES_NOT_HEARD: [
      "notifications don't arrive, perhaps because of a pooler",
      "write the url of the database itself in `source.changes.url`",
    ],
    CHANGES_NOT_NOTICED: [
      "a full sync found changes that `source.changes` had missed",
      "make sure that every insert and update raises the change column or notifies the channel, also with [several tables](new-tenants.md#several-tables)",
    ],
  },
  Warnings: {
    TOKENS_MOVED: [
      "the config names a new place for tokens. A sync writes the missing tokens there",
      "[nothing](tokens.md#move-to-another-place)",
    ],
    TOKENS_LOST: [
      "a token store has lost all tokens. A sync writes the tokens again",
      "[nothing](recovery.md#the-token-table-is-lost)",
    ],
    TOKENS_UNMARKED: [
      "groupsync has no right to keep its ownership marker beside the tokens",
      "[run the statements in the message](runbooks.md#tokens_unmarked-the-tokens-cant-be-marked)",
    ],
    LEDGER_EMPTY: [
      "tokens exist, but the ledger is empty",
      "check `ledger` and `name`. If both are right, [the ledger is lost](recovery.md#the-ledger-is-lost)",
    ],
    GROUP_UNTRACKED: [
      "a stored token belongs to no group in the ledger",
      "[put the tenant's row back](recovery.md#untracked-groups), run a sync, and remove the row again",
    ],
    COMMITS_AT_RISK: [
      "a crash of the database server can lose committed writes",
      "change the settings in the message. Or run `groupsync sync --refresh` after [each crash](recovery.md#a-database-fails-over)",
    ],
    COMMITS_UNCHECKED: [
      "groupsync could not check whether the ledger still has all its writes",
      "if the database server crashed or failed over, run `groupsync sync --refresh`",
    ],
    SOURCE_ROLE_READS_TOKENS: [
      "the role in `source.url` can read the tokens or the ledger",
      "give the source [a role of its own](databases.md#roles-and-rights)",
    ],
    SOURCE_PATH_OPEN: [
      "other roles can create functions that run with the rights of the role in `source.url`",
      "[revoke CREATE](databases.md#roles-and-rights) on the schema that the message names",
    ],
    SECRETS_READABLE: [
      "everybody on this machine can read the config file, which contains a secret",
      "move the secret [to a file or variable](security.md#the-config-file), or restrict who may read the config file",
    ],
    REFRESH_UNSAFE: [
      "a refresh could change groups although `service.update` is `never`, so groupsync does no refresh",
      "run `groupsync probe`, or leave `service.refresh` out",
    ],
    APPROVAL_NOT_NEEDED: ["you gave an approval code, but nothing is held", "nothing"],
    GRACE_PERIOD_RESTARTED: [
      "no sync ran for [unusually long](deletions.md#the-grace-period), so all grace periods start again",
      "nothing. After a restore, do what [Recovery](recovery.md) says",
    ],
    SOURCE_CHANGED: [
      "the config names a new source, which lacks tenants that the ledger has",
      "check that the source is right. The [deletions](deletions.md#bad-evidence) of these tenants' groups are held",
    ],
    TOO_MANY_AT_ONCE: [
      "the service seems to limit how many calls it takes at once",
      "set `service.concurrency` to the number in the message. Until then, groupsync slows down",
    ],
    GROUP_LEFT_BEHIND: [
      "groupsync may have made a group in the wrong team, and could not delete it",
      "delete the group by hand",
    ],
  },
  "The sandbox": {
    SANDBOX_ADDRESS: [
      "the sandbox can't listen on this host and port",
      "choose another `--port` (0 takes any free port) or `--host`",
    ],
    SANDBOX_STATE: ["the sandbox can't use the `--state` file", "name another file"],
  },
} as const satisfies Readonly<Record<string, Readonly<Record<string, Explained>>>>;

const ALL: ReadonlyMap<string, Explained> = new Map(Object.values(ERROR_CODES).flatMap(Object.entries));

export const KNOWN_CODES: readonly string[] = [...ALL.keys()];

export interface ErrorHelp {
  readonly meaning: string;
  readonly action: string;
  /** Where docs/ says more, from that folder. */
  readonly links: readonly string[];
}

/** Undefined for an unknown code. The texts are plain. */
export function errorHelp(code: string): ErrorHelp | undefined {
  const explained = ALL.get(code);
  if (explained === undefined) return undefined;
  const [meaning, action] = explained;
  // The texts stand in docs/errors.md.
  const links = [...`${meaning} ${action}`.matchAll(LINK)].map(([, , to = ""]) =>
    to.replace(/^#/, "errors.md#"),
  );
  return { meaning: plain(meaning), action: plain(action), links };
}

const LINK = /\[([^\]]+)\]\(([^)]+)\)/g;

/** Without the marks of Markdown. */
const plain = (text: string): string => text.replace(LINK, "$1").replaceAll("`", "");

/** What to do about the code of a row or a group. */
export const remedyOf = (code: string): string => errorHelp(code)?.action ?? "fix what the message names";

/** What to do about these codes of rows and groups, each once, in the order in which they come. */
export const remediesOf = (codes: readonly string[]): readonly { code: string; remedy: string }[] =>
  [...new Set(codes)].flatMap((code) => (OF_ONE.has(code) ? [{ code, remedy: remedyOf(code) }] : []));

const OF_ONE: ReadonlySet<string> = new Set([
  ...Object.keys(ERROR_CODES["Rows of the source"]),
  ...Object.keys(ERROR_CODES["Single groups"]),
]);
