// biome-ignore-all lint/suspicious/noTemplateCurlyInString: they are the config's references to variables and files.

/** What a code means, and what to do about it. In Markdown, whose links lead from the folder docs/. */
type Explained = readonly [meaning: string, action: string];

/**
 * Every code that an operator can get to see, by the part of the work that it is of. docs/errors.md, `groupsync help CODE` and all
 * that names a remedy have their texts from here.
 */
export const ERROR_CODES = {
  "Rows of the source": {
    ID_NULL: ["the row has no id", "fill the column of `group.id`, or leave the row out with `source.where`"],
    ID_EMPTY: [
      "the id is an empty text",
      "fill the column of `group.id`, or leave the row out with `source.where`",
    ],
    ID_TOO_LONG: ["the id has more than 512 bytes", "shorten the id"],
    ID_UNUSABLE: [
      "the id is no text, integer or uuid, or holds what JSON can't carry",
      "correct the id; a query can cast it to text",
    ],
    ID_DUPLICATE: ["several rows have this id; none of them is used", "make the id unique in the source"],
    VALUE_NULL: [
      "a column that the rule needs is null",
      "fill the column. Or give a column's rule a [`default`](rows.md#rules), and a template in `properties` an `optional: true`",
    ],
    VALUE_EMPTY: [
      "the name, or a value of the mapping, is empty or blank",
      "fill the column, or let the row wait with [`source.ready_when`](rows.md#tenants-that-arent-ready)",
    ],
    VALUE_UNUSABLE: [
      "the column holds what JSON can't carry or the rule can't use",
      "correct the value, or use another column",
    ],
    GROUP_TOO_LARGE: ["the group is larger than 1 MiB of JSON", "put less into `properties`"],
  },
  "Single groups": {
    REFUSED: [
      "the service refuses the call for this group",
      "compare the group's name, mapping and properties with those of a group that works",
    ],
    NOT_UPDATED: [
      "the service kept or rewrote the group's name, or keeps every group as it is",
      "compare the name with the row. If [`groupsync probe`](service.md#probe-the-service) finds that a GET never changes a group, set `service.update` to `replace` or `never`",
    ],
    NOT_REPLACED: [
      "the service confirmed a deletion, and still has the group",
      "ask the service's operators",
    ],
    TOKEN_NOT_STORED: [
      "a token store refuses the token. A rotation that fails like this has sent nothing: the old token is good",
      "look at the token column's type and constraints; is there a row for the tenant?",
    ],
    NEW_TOKEN_NOT_STORED: [
      "a new token could not be stored, and the old one is dead: the tenant is locked out",
      "[fix the token store](runbooks.md#a-tenant-is-locked-out) now. Don't kill a run that still tries: it has the token in memory. Then `groupsync sync --only ID` asks the service for the token",
    ],
    NOT_ROTATED: [
      "not rotated, because another group's new token could not be stored; its own token is good",
      "fix the token store; the next sync rotates it",
    ],
    TOKEN_SHARED: [
      "the service gave two groups one token. groupsync doesn't store it, and deletes or rotates neither group",
      "ask the service's operators for another token",
    ],
    TOKEN_NOT_EVERYWHERE: [
      "one of [several token stores](tokens.md#several-stores) refuses the token",
      "fix that store; the next sync writes the token there",
    ],
    TOKEN_UNSURE: [
      "a process died while it stored this token, and its write may still arrive",
      "nothing: the next sync checks the stored copies",
    ],
    UNSETTLED: [
      "the outcome of an earlier call for this group is not known",
      "nothing: the next sync asks, once the row is valid and ready",
    ],
    TOKEN_NOT_REMOVED: [
      "the group is deleted, but its token is still stored, as in a token column that takes no NULL",
      "fix what the message names; the next sync removes the token",
    ],
    IN_DOUBT: [
      "the ledger went back in time, or somebody ran `sync --refresh`, and the service has not been asked for the group yet",
      "the next sync [goes on](recovery.md#a-database-fails-over); correct the row if it is rejected. `sync --refresh --cancel` takes a refresh back",
    ],
    BAD_RESPONSE: [
      "the answer is not what [the interface](service.md#what-the-interface-must-do) promises, such as a redirect, no JSON, or another group. The call may have had its effect",
      "is `service.base_url` the service itself, and not a login page?",
    ],
    TIMEOUT: [
      "no answer within `service.timeout`",
      "raise `service.timeout`, or ask the service's operators",
    ],
    CONNECTION_LOST: ["the connection broke before the answer came", "look at the proxies in between"],
    SERVICE_ERROR: [
      "the service answered with a 5xx",
      "ask the service's operators; tell them the time and the id",
    ],
    THROTTLED: [
      "the service keeps answering 429 for this group, and not for others",
      "nothing; lower `service.concurrency` if it lasts",
    ],
    OVERLOADED: [
      "the service, or a proxy before it, answers 503 for this group, and not for others",
      "nothing; lower `service.concurrency` if it lasts",
    ],
  },
  "Something is held": {
    DELETIONS_HELD: [
      "more removals are due than `deletion.limit` allows",
      "[are these tenants really gone?](runbooks.md#deletions-are-held) `groupsync plan` names them, and the command that approves",
    ],
    SOURCE_INCONCLUSIVE: [
      "no valid row came from the source, so nobody counts as gone",
      "[repair `source`](deletions.md#bad-evidence); one valid row is enough",
    ],
    REFRESH_HELD: [
      "more groups are gone or have another token than `deletion.limit` allows",
      "[find out who changed them](runbooks.md#the-refresh-is-held); `groupsync status` has the command that goes on",
    ],
    APPROVAL_MISMATCH: [
      "the code that you gave stands for another set, or was used before",
      "look at what is held now, and take its code",
    ],
  },
  "The clocks": {
    CLOCK_DIFFERS: [
      "the clocks of host and ledger's database are more than five minutes apart, so [nothing is deleted or replaced](deletions.md#the-grace-period)",
      "set the clock that is wrong, best by NTP",
    ],
  },
  "The run": {
    KEY_REFUSED: [
      "the service refuses the API key, whatever the group",
      "is `service.api_key` of the right environment, and still valid?",
    ],
    INTERMEDIARY_REFUSED: [
      "a proxy, CDN or firewall refuses every GET with a body (OWASP rule 920170)",
      "reach the service past it, or have it allow `/api/user`",
    ],
    SERVICE_UNAVAILABLE: [
      "the service can't be reached, or [failed nearly always](#when-a-run-gives-up)",
      "[check](runbooks.md#the-service-is-slow-or-down) `service.base_url`, DNS and TLS",
    ],
    UNREACHABLE: [
      "no connection to the service came about",
      "[check](runbooks.md#the-service-is-slow-or-down) `service.base_url`, DNS and TLS",
    ],
    TEAM_CHANGED: [
      "the key belongs to another team than the ledger's groups",
      "use a key of that team; or another `name` and another place for tokens",
    ],
    SERVICE_CHANGED: [
      "`service.base_url` is not the address in the ledger",
      "put it back; or use another `name` and another place for tokens",
    ],
    SOURCE_UNAVAILABLE: [
      "the source can't be read; the message has the database's own words",
      "run [`groupsync check`](runbooks.md#the-database-went-away)",
    ],
    SOURCE_ORDER: [
      "the database returned ids in another order than that of their bytes",
      "report it with the id column's type and collation",
    ],
    DATABASE_TOO_OLD: [
      "the database server is too old; the message has its version",
      "[upgrade it](databases.md#what-it-runs-on)",
    ],
    LEDGER_UNAVAILABLE: [
      "the ledger can't be reached or written",
      "run [`groupsync check`](runbooks.md#the-database-went-away)",
    ],
    LEDGER_TOO_NEW: [
      "a newer groupsync has upgraded the ledger",
      "[run the newer one](runbooks.md#upgrades)",
    ],
    LEDGER_OUTDATED: [
      "a groupsync from before the first release made the ledger",
      "let that groupsync delete the groups of tenants that are gone; then set a new `ledger.table_prefix` and [run `groupsync sync`](runbooks.md#upgrades)",
    ],
    LEDGER_ENCODING: [
      "the ledger's database has another encoding than UTF8",
      "put the ledger into another database",
    ],
    TOKEN_STORE_UNAVAILABLE: [
      "a token store can't be reached, or refuses every token",
      "run `groupsync check`, which says what is missing: [a right](runbooks.md#the-database-went-away), or something of the [secret store](secret-stores.md#if-the-store-is-slow-or-refuses)",
    ],
    LEDGER_REWOUND: [
      "the ledger's database went back in time, or lies on another server",
      "run `groupsync sync`; if the database was moved [without loss](recovery.md#a-database-fails-over), `groupsync sync --acknowledge-switchover`",
    ],
    LEASE_HELD: [
      "another instance is at work, or a daemon has not handed over in time (exit code 5)",
      "wait; [`groupsync status` names it](runbooks.md#the-lease-is-held). If it is gone, and a clock was set back: `UPDATE groupsync.ledger_leases SET expires_at = '1970-01-02' WHERE scope = 'default'`, with your `ledger.table_prefix` and `name`",
    ],
    LEASE_LOST: [
      "ledger or machine hung for longer than the lease lasts",
      "nothing: the next sync settles what was under way",
    ],
    LEASE_HANDED_OVER: [
      "in the daemon's log: a command asked for the lease",
      "nothing: the daemon goes on after that command",
    ],
    SCOPE_FORGOTTEN: [
      "somebody has run `forget` with the `name` of a daemon that still runs",
      "stop the daemon; or restart it to [begin anew](environments.md#retire-a-scope)",
    ],
    INTERRUPTED: [
      "the run was told to stop",
      "nothing: the next sync goes on. For a `forget`, see the message",
    ],
    NO_TEMPORARY_SPACE: [
      "a plan doesn't fit into the temporary folder",
      "give the folder more space, or name another one in `TMPDIR`",
    ],
    CANARY_REMAINS: [
      "the group that `probe` made could not be deleted (exit code 3)",
      "[delete it by hand](service.md#if-the-canary-remains), then run `groupsync probe --forget ID`",
    ],
    INTERNAL: ["a bug", "report it with the log"],
  },
  "The command line": {
    UNKNOWN_ID: [
      "neither the source nor the ledger has this id (exit code 64). In a report (exit code 3): somebody has removed the group from the ledger",
      "ids compare byte by byte: check case, blanks and `source.where`",
    ],
    UNKNOWN_SCOPE: [
      "the ledger keeps nothing of the scope that `forget` names (exit code 64)",
      "the message has the scopes that the ledger knows",
    ],
    TENANT_GONE: [
      "`sync --only` names a tenant that is gone (exit code 0)",
      "the message says what becomes of its group",
    ],
    TENANT_PRESENT: [
      "`sync --skip-grace` names a tenant whose row is there (exit code 3)",
      "take the tenant out of the source first, or flag its row",
    ],
    TENANT_RETURNED: [
      "a row came back after the source was read, so its group is not removed (exit code 0)",
      "nothing: the next sync looks at it again",
    ],
  },
  "The config": {
    CONFIG_INVALID: [
      "the [config file](configuration.md), or `GROUPSYNC_HTTP_LISTEN`, has values that groupsync can't use",
      "the report names each, with its line and what would be right",
    ],
    CONFIG_UNREADABLE: [
      "the config file can't be read, or has more than 256 KiB",
      "name the right file with `--config` or `GROUPSYNC_CONFIG`",
    ],
    CONFIG_TLS: [
      "TLS would be switched off, or is written wrongly",
      "correct the variable or parameter that the message names: see [TLS](security.md#tls)",
    ],
    CONFIG_NAME: [
      "the database can't have a table or column of this name",
      "write `table` or `schema.table`, odd names in double quotes",
    ],
    CONFIG_COLUMNS: [
      "a column is missing or of the wrong type, or the token table can't take tokens",
      "correct what the message lists",
    ],
    CONFIG_SOURCE: [
      "the database refuses the SQL in `source`",
      "correct it as the database's own words in the message say",
    ],
    CONFIG_TOKENS_OWNED: [
      "the tokens belong to another config or another ledger",
      "[name another place, or remove the ownership marker](runbooks.md#config_tokens_owned-the-tokens-belong-to-another-config)",
    ],
    CONFIG_TABLE_OWNER: [
      "on PostgreSQL, a table that groupsync takes for its own belongs to another role",
      "[find out who made the table](runbooks.md#config_table_owner-the-table-belongs-to-another-role); if you know it, run the statement in the message",
    ],
    CONFIG_TABLE_MOVED: [
      "the same config leads to another table than before",
      "[find out who did it](runbooks.md#config_table_moved-the-same-config-leads-to-another-table); if it was you, name the schema in the config",
    ],
    CONFIG_SCOPE_SHARED: [
      "groups of this scope belong to another scope of this ledger, too",
      "give [this config](environments.md) a key of another team, or other ids",
    ],
    CONFIG_OTHER_SCOPE: [
      "`forget --delete-groups` was run with the config of another scope",
      "name the scope's own config with `--config`",
    ],
    CONFIG_NEEDS_RESTART: [
      "after SIGHUP, the new config has another `name`, ledger or `http.listen`, which takes no effect",
      "restart the daemon",
    ],
    CONFIG_DIRECTORY_UNSAFE: [
      "others may write to the tokens' directory, or on the way to it",
      "the message has the [remedy](secret-stores.md#files)",
    ],
    CONFIG_PACKAGE_MISSING: [
      "the client of the secret store isn't installed",
      "run the command in the message, in groupsync's folder",
    ],
    CONFIG_REGION_MISSING: [
      "no region is set for AWS Secrets Manager",
      "name it in `tokens.region`, in `AWS_REGION` or in the profile",
    ],
    CONFIG_PROPOSAL: [
      "`init` finds no table with tenants, or not the one that you named",
      "choose with `--table`, `--id` and `--group-name`, or make a view: see [init](quick-start.md#more-about-init)",
    ],
    CONFIG_NOT_WRITTEN: [
      "`init` could not write its files, or would have overwritten one",
      "name another place with `--output`",
    ],
  },
  "The daemon": {
    HTTP_ADDRESS: [
      "it can't listen on `http.listen`. It ends with exit code 1",
      "does something else listen there? Name another address, or `off`",
    ],
    NOTIFY_FAILED: [
      "`notify.webhook` or `notify.heartbeat` can't be reached, or refuses; syncs go on",
      "check the address",
    ],
    SHUTDOWN_TIMEOUT: [
      "`shutdown_timeout` ended before all work was done (exit code 1)",
      "nothing: the next start settles it. Keep `shutdown_timeout` above `service.timeout`",
    ],
    PROCESS_WARNING: [
      "Node.js or a package warns of something; the run is not affected",
      "mostly an upgrade will do",
    ],
  },
  "Single tenants": {
    NOT_READY: [
      "`source.ready_when` isn't true of the row",
      "nothing: the tenant is served once the row is ready",
    ],
    NEEDS_FULL_SYNC: [
      "the group has to be replaced, which only full syncs do, within `deletion.limit`",
      "nothing: the next full sync does it",
    ],
    OUTDATED: [
      "the row has changed, and `service.update: never` leaves the group as it is",
      "nothing, or choose another `service.update`",
    ],
    TOO_MANY_TENANTS: ["10,000 tenants wait already", "nothing: the next full sync finds it"],
    LOOKUPS_NOT_INDEXED: [
      "the database reads the whole source to look at one tenant, so groupsync looks seldom",
      "create an index on the column of `group.id`",
    ],
    CHANGES_NOT_INDEXED: [
      "the database reads the whole source to find the newest rows, so groupsync asks seldom",
      "create the index that the message names",
    ],
    CHANGES_NOT_HEARD: [
      "notifications don't arrive; perhaps a pooler is in between",
      "write the url of the database itself in `source.changes.url`",
    ],
    CHANGES_NOT_NOTICED: [
      "a full sync found changes that neither column nor channel had shown",
      "does every insert and update move the column, or notify? With a query over several tables, see [New tenants](new-tenants.md#several-tables)",
    ],
  },
  Warnings: {
    TOKENS_MOVED: [
      "the config names another place for tokens; a sync writes the missing ones there",
      "[nothing](tokens.md#move-to-another-place)",
    ],
    TOKENS_LOST: [
      "a token store has lost all tokens; a sync writes them again",
      "[nothing](recovery.md#the-token-table-is-lost)",
    ],
    TOKENS_UNMARKED: [
      "groupsync may not keep its ownership marker beside the tokens",
      "[run the statements in the message](runbooks.md#tokens_unmarked-the-tokens-cant-be-marked)",
    ],
    LEDGER_EMPTY: [
      "there are tokens, but the ledger is empty: it was lost, or is another one",
      "check `ledger` and `name`: is the ledger [lost](recovery.md#the-ledger-is-lost)?",
    ],
    GROUP_UNTRACKED: [
      "a stored token belongs to no group in the ledger",
      "[put the tenant's row back](recovery.md#untracked-groups), sync, remove the row",
    ],
    COMMITS_AT_RISK: [
      "a crash of the database server can lose committed writes",
      "set what the message names, or run `groupsync sync --refresh` after [each crash](recovery.md#a-database-fails-over)",
    ],
    COMMITS_UNCHECKED: [
      "groupsync could not check whether the ledger has all that it wrote",
      "if the database server crashed or failed over, run `groupsync sync --refresh`",
    ],
    SOURCE_ROLE_READS_TOKENS: [
      "the role in `source.url` can read the tokens or the ledger",
      "give the source [a role of its own](databases.md#roles-and-rights), as `groupsync init` writes it",
    ],
    SOURCE_PATH_OPEN: [
      "other roles can make functions that run as the role in `source.url`",
      "give the source [a role of its own](databases.md#roles-and-rights)",
    ],
    SECRETS_READABLE: [
      "everybody on this machine can read the config, which has a secret in it",
      "write `${NAME}` or `${file:/path}` [in its place](security.md#the-config-file), or restrict who may read the file",
    ],
    REFRESH_UNSAFE: [
      "a refresh could change groups although `service.update` is `never`, so there is none",
      "run `groupsync probe`, or leave `service.refresh` out",
    ],
    APPROVAL_NOT_NEEDED: ["a code was given, and nothing is held", "nothing; the report names it too"],
    GRACE_PERIOD_RESTARTED: [
      "there was no sync for [unusually long](deletions.md#the-grace-period), so all grace periods start anew",
      "nothing; after [a restore](recovery.md#an-older-ledger-is-restored) run `groupsync sync --verify-tokens`",
    ],
    SOURCE_CHANGED: [
      "the config names another source, which lacks tenants that the ledger has",
      "is it the right source? Their deletions are held: see [Deletions](deletions.md)",
    ],
    TOO_MANY_AT_ONCE: [
      "the service seems to limit how many calls it takes at a time",
      "set `service.concurrency` to the number in the message; until then groupsync spaces its calls",
    ],
    GROUP_LEFT_BEHIND: [
      "a group was perhaps created in the wrong team, and could not be deleted again",
      "remove it by hand",
    ],
  },
  "The sandbox": {
    SANDBOX_ADDRESS: [
      "it can't listen on this host and port",
      "choose another `--port` (0 takes any free one) or `--host`",
    ],
    SANDBOX_STATE: [
      "the `--state` file can't be read or written, or is no state of a sandbox",
      "name another file",
    ],
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
  const links = [...`${meaning} ${action}`.matchAll(LINK)].map(([, , to = ""]) => to);
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
