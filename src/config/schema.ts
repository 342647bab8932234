import * as z from "zod";
import { parseRateLimit } from "../core/limits/rate-limit.ts";
import { parseDailyWindow } from "../core/rotation/rotation-policy.ts";
import { isScopeName } from "../core/tokens/destination.ts";
import { mappingRules, propertiesRules, textRule } from "./rules.ts";
import { tokenStores } from "./token-stores.ts";
import {
  apiKey,
  baseUrl,
  channel,
  choice,
  column,
  condition,
  cronLine,
  databaseUrl,
  duration,
  flag,
  HOUR_MS,
  hostName,
  listenAddress,
  optionalSection,
  parsed,
  percentage,
  query,
  section,
  syncKey,
  table,
  tablePrefix,
  timeZone,
  webAddress,
  webUrl,
  wholeNumber,
} from "./values.ts";

/**
 * Every key of the config file, once: its kind of value, its default, and what it means. The program's type, the messages
 * for wrong values, `groupsync schema`, docs/configuration.md and config.example.yaml come from here. A key's `meta` has
 *
 *   description  what it means. Backticks mark code
 *   otherwise    what holds if the key is left out, for a key without a default of its own
 *   see          the page of docs/ that says more
 *   example      what config.example.yaml shows, for a key without a default
 */

const service = section({
  base_url: baseUrl.meta({
    description: "Where the service is. Requests go to `{base_url}/api/user`.",
    example: "https://dashboards.example.com",
  }),
  allow_http: flag.prefault(false).meta({
    description:
      "Whether `base_url` may be `http:` and lead to another host. Anybody in between can read the API key and the tokens then.",
  }),
  api_key: apiKey.meta({
    description: "The bare key, without the word Token. It decides which environment's groups are changed.",
    example: `\${GROUPSYNC_API_KEY}`,
  }),
  timeout: duration("a duration up to 1h", "15s", (ms) => ms > 0 && ms <= HOUR_MS)
    .prefault("15s")
    .meta({ description: "How long groupsync waits for the answer to one request." }),
  concurrency: wholeNumber(1, 1000).prefault(8).meta({
    description: "Most requests in flight. Raise it for a large first sync if the service can take it.",
  }),
  rate_limit: parsed("a rate", "write it like 3/s, 170/min or 9000/h", parseRateLimit).exactOptional().meta({
    description: "Most requests in a time. Set it if others need a part of what the service allows.",
    otherwise: "no ceiling; groupsync learns from refusals what the service allows",
    example: "170/min",
  }),
  update: choice("upsert", "replace", "never")
    .prefault("upsert")
    .meta({
      description:
        "What happens to a group whose row has changed. `upsert`: it is sent again; if the service gives back the old name, " +
        "the group fails with `NOT_UPDATED`. `replace`: it is recreated with a new token, within `deletion.limit`. " +
        "`never`: it is left alone and counted as `outdated`.",
      see: "deletions.md",
    }),
  refresh: duration("a duration of 1h or more", "7d", (ms) => ms >= HOUR_MS)
    .exactOptional()
    .meta({
      description:
        "Within this time groupsync asks again for every group of a present tenant, to find what somebody else changed at " +
        "the service.",
      otherwise: "syncs ask for none",
      see: "rotation-and-drift.md#find-drift",
    }),
}).meta({ description: "The dashboard service." });

const changes = optionalSection({
  column: column("write the name of one column that every insert and update moves").exactOptional().meta({
    description: "A timestamp, or a growing number, that every insert and update moves. Give it an index.",
    otherwise: "groupsync watches no column",
    example: "updated_at",
  }),
  every: duration("a duration from 100ms to 1h", "1s", (ms) => ms >= 100 && ms <= HOUR_MS)
    .prefault("1s")
    .meta({ description: "How often groupsync asks for rows with new values in the column." }),
  channel: channel("customers_changed")
    .exactOptional()
    .meta({
      description:
        "A PostgreSQL channel on which a trigger sends the id of a changed tenant, or an empty text for a full sync: small " +
        "letters, digits and `_`. MySQL has no channels.",
      otherwise: "groupsync listens to no channel",
    }),
  url: databaseUrl.exactOptional().meta({
    description: "Where to listen, if `source.url` leads to a pooler that passes no notifications on.",
    otherwise: "`source.url`",
    example: `\${CHANGES_DATABASE_URL}`,
  }),
}).meta({
  description:
    "How `groupsync run` notices single tenants between two full syncs: by a column, by a channel, or by both.",
  see: "new-tenants.md",
});

const source = section({
  url: databaseUrl.meta({
    description:
      "The database with the tenants. groupsync only reads here. A url to another host has to say how TLS is used, such as " +
      "`?sslmode=require` or `?ssl-mode=REQUIRED`.",
    see: "databases.md",
    example: `\${DATABASE_URL}`,
  }),
  table: table.exactOptional().meta({
    description:
      "A table or view with one row for each tenant: `table` or `schema.table`, in MySQL `database.table`. Odd names stand " +
      "in double quotes.",
    otherwise: "required, unless there is a `query`",
    example: "customers",
  }),
  query: query.exactOptional().meta({
    description: "An SQL query in place of `table` and `where`, for joins and computed columns.",
    otherwise: "`source.table` is read",
    example:
      "SELECT c.id, c.company_name, r.code AS region\nFROM customers c JOIN regions r ON r.id = c.region_id\n",
  }),
  where: condition("status = 'active'").exactOptional().meta({
    description:
      "An SQL condition: which rows of the table are read. A tenant whose row it leaves out is as good as absent.",
    otherwise: "all rows are read",
  }),
  removed_when: condition("deleted_at IS NOT NULL").exactOptional().meta({
    description:
      "An SQL condition on the rows of the table or query. It is true of tenants that are gone; null counts as false.",
    otherwise: "no row is one of a tenant that is gone",
    see: "deletions.md",
  }),
  ready_when: condition("warehouse_ref IS NOT NULL")
    .exactOptional()
    .meta({
      description:
        "An SQL condition on the rows of the table or query. A row of which it isn't true waits: groupsync makes no group " +
        "of it, and leaves its present group as it is. Null counts as false.",
      otherwise: "all rows are ready",
      see: "rows.md",
    }),
  changes,
  row_security: choice("error", "filter")
    .exactOptional()
    .meta({
      description:
        "On PostgreSQL: what happens if a policy (row level security) may hide rows. `error`: the sync fails. `filter`: " +
        "tenants that the policy hides count as gone.",
      otherwise: "`error`",
      see: "databases.md",
      example: "error",
    }),
}).meta({ description: "Where the tenants are." });

const group = section({
  id: column("write the name of one column; to compute an id, give it a name in source.query").meta({
    description:
      "The column with the tenant's id, which never changes for a tenant: text or integers, in PostgreSQL also citext, name " +
      "or uuid, in MariaDB also UUID. Ids compare by their UTF-8 bytes: case, accents and blanks at the end make " +
      "different tenants, except for the blanks that CHAR pads with.",
    example: "id",
  }),
  name: textRule.meta({
    description: "The group's name, sent as text. A null rejects the row.",
    example: "company_name",
  }),
  mapping: mappingRules.meta({
    description:
      "Schema id → rule, or the name of one JSON column that has it all. The values are sent as text. A null rejects the " +
      "row, because a group without its mapping may see the schema's default data.",
    example: { "40": "data_source_id", "134": "warehouse-{{ region }}" },
  }),
  properties: propertiesRules.meta({
    description:
      "Variables for the dashboards: key → rule, or the name of one JSON column that has them all. They keep their JSON " +
      "type, and a null is sent as null.",
    example: { plan: "plan", tier: { value: "gold" }, logo: { column: "logo_url", optional: true } },
  }),
  data_source_provided_id: textRule.exactOptional().meta({
    description: "The data source that a DELETE names, as text. A null names none.",
    otherwise: "a DELETE names none",
    example: "data_source_id",
  }),
}).meta({
  description: "How a row becomes a group. A rule says how one value is computed.",
  see: "rows.md",
});

const ledger = optionalSection({
  url: databaseUrl.exactOptional().meta({
    description: "The database with the ledger.",
    otherwise: "`source.url`",
    example: `\${LEDGER_DATABASE_URL}`,
  }),
  table_prefix: tablePrefix.prefault("groupsync_").meta({
    description:
      "Begins the names of the tables: up to 32 letters, digits and `_`. On PostgreSQL a schema may stand in front, like " +
      "`ops.groupsync_`; on MySQL the url names the database.",
  }),
}).meta({
  description:
    "groupsync's own tables. Back them up: the service has no list of its groups, so this is the only one.",
  see: "internals.md",
});

const deletion = optionalSection({
  when: choice("absent", "flagged", "never")
    .prefault("absent")
    .meta({
      description:
        "When a tenant counts as gone. `absent`: a complete read doesn't have its row, or `source.removed_when` is true of the " +
        "row. `flagged`: only `source.removed_when` counts; a tenant whose row vanished is reported, and its group is kept. " +
        "`never`: all groups are kept, and those of tenants that are gone are reported.",
    }),
  grace_period: duration("a duration", "24h")
    .prefault("24h")
    .meta({
      description:
        "How long a tenant has to be gone before its group is deleted. Only time between healthy reads counts, and it takes " +
        "two of them. With 0 the first read that shows it is enough.",
    }),
  limit: optionalSection({
    count: wholeNumber(0, 1_000_000).prefault(3).meta({ description: "A number of groups." }),
    percent: percentage().prefault(10).meta({ description: "A share of the groups that groupsync owns." }),
  }).meta({
    description:
      "How many deletions and replacements may happen in 24 hours. If there are more than `count`, and more than " +
      "`percent` too, all that are due are held until you approve them. With 0 and 0 each of them needs approval.",
  }),
}).meta({
  description:
    "What becomes of the group of a tenant that is gone. No group is deleted for a read that broke off or had no valid " +
    "row, nor for a rejected row.",
  see: "deletions.md",
});

const rotation = optionalSection({
  max_age: duration("a duration above zero", "90d", (ms) => ms > 0)
    .exactOptional()
    .meta({
      description:
        "Syncs give a new token to a group whose token is older. Normally the old token stops working immediately.",
      otherwise: "syncs rotate no token",
    }),
  window: parsed(
    "a part of the day",
    'write it like "02:00-05:00", by the clock of timezone',
    parseDailyWindow,
  )
    .exactOptional()
    .meta({
      description:
        "The part of the day in which syncs may rotate, by the clock of `timezone`. It may span midnight.",
      otherwise: "all day",
      example: "02:00-05:00",
    }),
  max_per_run: wholeNumber(1)
    .exactOptional()
    .meta({ description: "Most rotations in one sync.", otherwise: "no limit", example: 50 }),
  concurrency: wholeNumber(1, 100)
    .prefault(1)
    .meta({
      description:
        "How many tokens at a time may be new at the service and not stored yet. Such a group is locked out of the " +
        "dashboards, so leave it at 1 unless that is too slow.",
    }),
}).meta({ description: "New tokens in place of old ones.", see: "rotation-and-drift.md" });

const http = optionalSection({
  listen: listenAddress.exactOptional().meta({
    description: "Where the page, the probes and the metrics are, or `off`.",
    otherwise: "`127.0.0.1:8080`; in the container image `0.0.0.0:8080`",
    example: "127.0.0.1:8080",
  }),
  allowed_hosts: z
    .array(hostName, { error: "is not a list of host names; write it like [groupsync.internal]" })
    .exactOptional()
    .meta({
      what: "a list of host names",
      description:
        "Names that you call the page by, beside localhost, IP addresses and the name in `http.listen`.",
      otherwise: "none",
      example: ["groupsync.internal"],
    }),
  docs_url: webAddress(
    "the address of a folder",
    "write it like https://git.example.com/groupsync/blob/main/docs, without a query",
  )
    .exactOptional()
    .meta({
      description:
        "Where a browser finds these docs. The status page then links to the pages that explain a problem.",
      otherwise: "no links",
      example: "https://git.example.com/groupsync/blob/main/docs",
    }),
  stale_after: duration("a duration above zero", "15m", (ms) => ms > 0)
    .exactOptional()
    .meta({
      description: "`/readyz` fails once the last good sync is older.",
      otherwise: "until three scheduled times have passed",
      see: "observe.md#stale",
    }),
  sync_key: syncKey.exactOptional().meta({
    description:
      "The bearer key with which your application may ask for one tenant's token immediately: `POST /sync/{user_group_id}`.",
    otherwise: "there is no such path",
    see: "new-tenants.md",
    example: `\${GROUPSYNC_SYNC_KEY}`,
  }),
}).meta({
  description:
    "What `groupsync run` shows of itself: a status page on `/`, and `/healthz`, `/readyz` and `/metrics`. There is no " +
    "login; tenants and their rows can be seen there, but no token and no key.",
  see: "observe.md",
});

const notify = optionalSection({
  webhook: webUrl.exactOptional().meta({
    description:
      "Gets a message when a problem begins or ends, and once a day while one lasts. Slack's incoming webhooks take it, " +
      'and all that take `{"text": "…"}`.',
    otherwise: "nobody gets messages",
    example: `\${GROUPSYNC_WEBHOOK}`,
  }),
  heartbeat: webUrl.exactOptional().meta({
    description:
      "Gets a GET after each good sync, for a monitor that raises the alarm when it hears nothing.",
    otherwise: "nobody is called",
    example: `\${GROUPSYNC_HEARTBEAT}`,
  }),
  allow_http: flag.prefault(false).meta({
    description: "Whether the two addresses may be `http:` and lead to another host.",
  }),
}).meta({
  description: "Whom `groupsync run` tells. Neither address can hold up or fail a sync.",
  see: "observe.md#notifications",
});

export const configFile = section({
  name: parsed("a name", "write text of up to 64 letters, digits, dots, dashes and underscores", (name) =>
    isScopeName(name) ? name : undefined,
  )
    .prefault("default")
    .meta({
      description:
        "The scope: up to 64 letters, digits, dots, dashes and underscores. Configs with different names can share one set " +
        "of ledger tables. Don't change it later: under a new name, groupsync knows none of its groups.",
      see: "environments.md",
    }),
  service,
  source,
  group,
  tokens: tokenStores,
  ledger,
  deletion,
  rotation,
  // `default` and not `prefault`, because to check a cron line and a time zone takes longer than to check all other
  // keys.
  schedule: cronLine.default("*/5 * * * *").meta({
    description:
      "When `groupsync run` syncs: a cron line of minute, hour, day, month and weekday, or with seconds before them. If it " +
      "names both a day and a weekday, both have to fit. A scheduled time that comes while a sync goes on is left out.",
  }),
  timezone: timeZone.default("UTC").meta({
    description: "Whose clock `schedule` and `rotation.window` go by.",
    otherwise: "`UTC`",
    example: "UTC",
  }),
  jitter: duration("a duration up to 1h", "30s", (ms) => ms <= HOUR_MS)
    .prefault("0s")
    .meta({
      description:
        "`groupsync run` delays each scheduled sync by a random part of this, so that many daemons don't call one service at once.",
    }),
  run_at_start: flag.prefault(true).meta({
    description: "Whether `groupsync run` syncs right away, or waits for its first scheduled time.",
  }),
  shutdown_timeout: duration("a duration up to 1h", "25s", (ms) => ms > 0 && ms <= HOUR_MS)
    .prefault("25s")
    .meta({
      description:
        "How long `groupsync run` may take from SIGTERM to its end. Keep it above `service.timeout`, and below what your " +
        "container runtime waits before it kills (Kubernetes: 30 seconds).",
    }),
  history: duration("a duration of 1h or more", "90d", (ms) => ms >= HOUR_MS)
    .prefault("90d")
    .meta({ description: "How long the ledger keeps a run. The last ten runs always stay." }),
  http,
  notify,
});

/** The file as it is written, its values read and its defaults filled in. */
export type ConfigFile = z.output<typeof configFile>;
