import type { Descriptions } from "./description.ts";
import { TOKEN_STORE_KEYS } from "./token-store-keys.ts";

const service: Descriptions = {
  base_url: "Where the service is. Requests go to `{base_url}/api/user`.",
  allow_http:
    "Whether `base_url` may be `http:` and lead to another host. Anybody in between can read the API key and the tokens then.",
  api_key: "The bare key, without the word Token. It decides which environment's groups are changed.",
  timeout: "How long groupsync waits for the answer to one request.",
  concurrency: "Most requests in flight. Raise it for a large first sync if the service can take it.",
  rate_limit: {
    text: "Most requests in a time. Set it if others need a part of what the service allows.",
    otherwise: "no ceiling; groupsync learns from refusals what the service allows",
  },
  update: {
    text:
      "What happens to a group whose row has changed. `upsert`: it is sent again; if the service gives back the old name, " +
      "the group fails with `NOT_UPDATED`. `replace`: it is deleted and made anew with a new token, within `deletion.limit`. " +
      "`never`: it is left alone and counted as `outdated`.",
    see: "deletions.md",
  },
  refresh: {
    text:
      "Within this time groupsync asks again for every group of a present tenant, to find what somebody else changed at " +
      "the service.",
    otherwise: "syncs ask for none",
    see: "drift.md",
  },
};

const changes: Descriptions = {
  column: {
    text: "A timestamp, or a growing number, that every insert and update moves. Give it an index.",
    otherwise: "groupsync watches no column",
  },
  every: { text: "How often groupsync asks for rows with new values in the column.", otherwise: "`1s`" },
  channel: {
    text:
      "A PostgreSQL channel on which a trigger sends the id of a changed tenant, or an empty text for “look now”: " +
      "small letters, digits and `_`. MySQL has no channels.",
    otherwise: "groupsync listens to no channel",
  },
  url: {
    text: "Where to listen, if `source.url` leads to a pooler that passes no notifications on.",
    otherwise: "`source.url`",
  },
};

const source: Descriptions = {
  url: {
    text:
      "The database with the tenants: PostgreSQL, MySQL or MariaDB; `postgresql://` and `mariadb://` are fine too. " +
      "groupsync only reads here. A url to another host has to say how TLS is used, such as `?sslmode=require` or " +
      "`?ssl-mode=REQUIRED`.",
    see: "databases.md",
  },
  table: {
    text:
      "A table or view with one row for each tenant: `table` or `schema.table`, in MySQL `database.table`. Odd names stand " +
      "in double quotes.",
    otherwise: "`source.query` is required",
  },
  query: {
    text: "An SQL query in place of `table` and `where`, for joins and computed columns.",
    otherwise: "`source.table` is required",
  },
  where: {
    text: "An SQL condition: which rows of the table are read. A tenant whose row it leaves out is as good as absent.",
    otherwise: "all rows are read",
  },
  removed_when: {
    text: "An SQL condition on the rows of the table or query. It is true of tenants that are gone; null counts as false.",
    otherwise: "no row is one of a tenant that is gone",
    see: "deletions.md",
  },
  ready_when: {
    text:
      "An SQL condition on the rows of the table or query. A row of which it isn't true waits: groupsync makes no group " +
      "of it, and leaves its present group as it is. Null counts as false.",
    otherwise: "all rows are ready",
    see: "rows.md",
  },
  changes: {
    text: "How `groupsync run` notices single tenants between two full syncs: by a column, by a channel, or by both.",
    see: "new-tenants.md",
    keys: changes,
  },
  row_security: {
    text:
      "On PostgreSQL: what happens if a policy (row level security) may hide rows. `error`: the sync fails. `filter`: " +
      "tenants that the policy hides count as gone.",
    otherwise: "`error`",
    see: "security.md",
  },
};

const group: Descriptions = {
  id:
    "The column with the tenant's id, which never changes for a tenant: text or integers, in PostgreSQL also citext, name " +
    "or uuid, in MariaDB also UUID. Ids compare by their UTF-8 bytes: case, accents and blanks at the end make " +
    "different tenants, except for the blanks that CHAR pads with.",
  name: "The group's name, sent as text. A null rejects the row.",
  mapping:
    "Schema id → rule, or the name of one JSON column that has it all. The values are sent as text. A null rejects the " +
    "row, because a group without its mapping may see the schema's default data.",
  properties:
    "Variables for the dashboards: key → rule, or the name of one JSON column that has them all. They keep their JSON " +
    "type, and a null is sent as null.",
  data_source_provided_id: {
    text: "The data source that a DELETE names, as text. A null names none.",
    otherwise: "a DELETE names none",
  },
};

const deletion: Descriptions = {
  when:
    "When a tenant counts as gone. `absent`: a complete read doesn't have its row, or `source.removed_when` is true of the " +
    "row. `flagged`: only `source.removed_when` counts; a tenant whose row vanished is reported, and its group is kept. " +
    "`never`: all groups are kept, and those of tenants that are gone are reported.",
  grace_period:
    "How long a tenant has to be gone before its group is deleted. Only time between healthy reads counts, and it takes " +
    "two of them. With 0 the first read that shows it is enough.",
  limit: {
    text:
      "How many deletions and replacements may happen in 24 hours. If there are more than `count`, and more than " +
      "`percent` too, all that are due are held until you approve them. With 0 and 0 each of them needs approval.",
    keys: {
      count: "A number of groups.",
      percent: "A share of the groups that groupsync owns.",
    },
  },
};

const rotation: Descriptions = {
  max_age: {
    text: "Syncs give a new token to a group whose token is older. The old token is dead at once.",
    otherwise: "syncs rotate no token",
  },
  window: {
    text: "The part of the day in which syncs may rotate, by the clock of `timezone`. It may span midnight.",
    otherwise: "all day",
  },
  max_per_run: { text: "Most rotations in one sync.", otherwise: "no limit" },
  concurrency:
    "How many tokens at a time may be new at the service and not stored yet, in a sync and in `groupsync rotate`. " +
    "Such a group is locked out of the dashboards, so leave it at 1 unless that is too slow. Each may keep a connection " +
    "to the ledger's database.",
};

const http: Descriptions = {
  listen: {
    text: "Where the page, the probes and the metrics are, or `off`.",
    otherwise: "`127.0.0.1:8080`; in the container image `0.0.0.0:8080`",
  },
  allowed_hosts: {
    text: "Names that you call the page by, beside localhost, IP addresses and the name in `http.listen`.",
    otherwise: "none",
  },
  stale_after: {
    text: "`/readyz` fails once the last good sync is older.",
    otherwise: "until three ticks of the schedule have passed",
  },
  sync_key: {
    text: "The bearer key with which your application may ask for one tenant's token at once: `POST /sync/{user_group_id}`.",
    otherwise: "there is no such path",
    see: "new-tenants.md",
  },
};

const notify: Descriptions = {
  webhook: {
    text:
      "Gets a message when a problem begins or ends, and once a day while one lasts. Slack's incoming webhooks take it, and all that " +
      'take `{"text": "…"}`.',
    otherwise: "nobody gets messages",
  },
  heartbeat: {
    text: "Gets a GET after each good sync, for a monitor that raises the alarm when it hears nothing.",
    otherwise: "nobody is called",
  },
  allow_http: "Whether the two addresses may be `http:` and lead to another host.",
};

/** Every key of a config file. */
export const CONFIG_KEYS: Descriptions = {
  name: {
    text:
      "The scope: up to 64 letters, digits, dots, dashes and underscores. Configs with different names can share one set " +
      "of ledger tables; give each a `tokens.table` and an API key of its own. Don't change the name later: under a new " +
      "name, groupsync knows none of the groups that it has made.",
    see: "environments.md",
  },
  service: { text: "The dashboard service.", keys: service },
  source: { text: "Where the tenants are.", keys: source },
  group: {
    text: "How a row becomes a group. A rule says how one value is computed.",
    see: "rows.md",
    keys: group,
  },
  tokens: {
    text:
      "Where tokens are written: one store, or a list of several. A token counts as stored once all of them have it. " +
      "`store` says which kind of store it is; each kind has keys of its own.",
    see: "token-stores/README.md",
    kinds: TOKEN_STORE_KEYS,
  },
  ledger: {
    text: "groupsync's own tables. Back them up: the service has no list of its groups, so this is the only one.",
    see: "internals.md",
    keys: {
      url: { text: "The database with the ledger.", otherwise: "`source.url`" },
      table_prefix:
        "Begins the names of the tables: up to 32 letters, digits and `_`. On PostgreSQL a schema may stand in front, like " +
        "`ops.groupsync_`; on MySQL the url names the database.",
    },
  },
  deletion: {
    text:
      "What becomes of the group of a tenant that is gone. No group is deleted for a read that broke off or had no valid " +
      "row, nor for a rejected row.",
    see: "deletions.md",
    keys: deletion,
  },
  rotation: { text: "New tokens in place of old ones.", see: "rotation.md", keys: rotation },
  schedule:
    "When `groupsync run` syncs: a cron line of minute, hour, day, month and weekday, or with seconds before them. If it " +
    "names both a day and a weekday, both have to fit. A tick that comes while a sync goes on is left out.",
  timezone: { text: "Whose clock `schedule` and `rotation.window` go by.", otherwise: "`UTC`" },
  jitter:
    "`groupsync run` puts each tick off by a random part of this, so that many daemons don't call one service at once.",
  run_at_start: "Whether `groupsync run` syncs right away, or waits for its first tick.",
  shutdown_timeout:
    "How long `groupsync run` may take from SIGTERM to its end. Keep it above `service.timeout`, and below what your " +
    "container runtime waits before it kills (Kubernetes: 30 seconds).",
  history: "How long the ledger keeps a run. The last ten runs always stay.",
  http: {
    text:
      "What `groupsync run` shows of itself: a status page on `/`, and `/healthz`, `/readyz` and `/metrics`. There is no " +
      "login; tenants and their rows can be seen there, but no token and no key.",
    see: "status-page.md",
    keys: http,
  },
  notify: {
    text: "Whom `groupsync run` tells. Neither address can hold up or fail a sync.",
    see: "operations.md",
    keys: notify,
  },
};

/** The keys of a rule in its long form. */
export const RULE_KEYS: Descriptions = {
  column: "The column whose value it is.",
  template: "Text with columns in it, like `{{ region }}-x`. The value is always text.",
  value: "A constant.",
  optional: "Whether a null leaves the key out, instead of rejecting the row.",
  default: "What stands in for a null of the column.",
};
