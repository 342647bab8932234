import { validateDetailed } from "node-cron";
import { z } from "zod";
import { parseDailyWindow } from "../core/daily-window.ts";
import { parseDuration } from "../core/duration.ts";
import { parseRateLimit } from "../core/rate-limit.ts";
import { Secret } from "../core/secret.ts";
import type { Config, LedgerConfig } from "./config.ts";
import { existingRowsAreNamed, limitsHaveAnAge, sectionsFitTogether, tableOrQuery } from "./consistency.ts";
import { column, dataSourceIdRule, mappingRule, nameRule, propertiesRule } from "./rules.ts";
import { choice, number, scalar, wanted } from "./scalars.ts";
import { section } from "./section.ts";
import { parseBaseUrl, parseDatabaseUrl, tlsProblems } from "./urls.ts";

const HOUR_MS = 3_600_000;

const databaseUrl = scalar(
  parseDatabaseUrl,
  wanted(
    "the url of a database",
    "write it like postgres://user:password@host:5432/database or mysql://…, with %40 for an @, %2F for a / in the password",
    "{secret}",
  ),
).superRefine((url, context) => {
  for (const message of tlsProblems(url)) context.addIssue({ code: "custom", message });
});

const baseUrl = scalar(
  parseBaseUrl,
  wanted(
    "the address of a service",
    "write it like https://dashboards.example.com, without user, query or /api/user",
    "{secret}",
  ),
);

/** Goes into a header as it is. */
const apiKey = scalar(
  (key) => (/^[!-~]+$/.test(key) ? new Secret(key) : undefined),
  wanted(
    "an API key",
    `write \${GROUPSYNC_API_KEY}, and set it to the bare key, without the word Token`,
    "{secret}",
  ),
);

const duration = (fits: (ms: number) => boolean, what: string, remedy: string) =>
  z.preprocess(
    (value) => (value === 0 ? "0" : value),
    scalar(
      (written) => {
        const ms = parseDuration(written);
        return ms !== undefined && fits(ms) ? ms : undefined;
      },
      wanted(what, remedy),
    ),
  );

/** With the value that it has when left out. */
const wholeNumber = (from: number, to: number, otherwise: number) =>
  number(
    (want) => z.int(want).min(from, want).max(to, want),
    wanted(`a whole number from ${from} to ${to}`, `the default is ${otherwise}`),
  ).prefault(otherwise);

const percentage = (otherwise: number) =>
  number(
    (want) => z.number(want).min(0, want).max(100, want),
    wanted("a number from 0 to 100", `the default is ${otherwise}`),
  ).prefault(otherwise);

/** `table` or `schema.table`, either part in double quotes where it has to be. Quoting is the adapters' business. */
const TABLE = /^(?:(?:"(?:[^"]|"")+"|[\p{L}\p{N}_$-]+)(?:\.(?!$)|$)){1,2}$/u;
const table = scalar(
  (name) => (TABLE.test(name) ? name : undefined),
  wanted("the name of a table", 'write it like customers, app.customers or app."Customers"'),
);

/** Without the semicolon at its end, for it becomes part of a larger statement. */
const query = scalar((sql) => sql.replace(/[;\s]+$/, "") || undefined, wanted("a query", "write SELECT …"));

const condition = scalar(
  (sql) => sql.trim() || undefined,
  wanted("a condition", "write it like status = 'active'"),
);

const tablePrefix = scalar(
  (written): Omit<LedgerConfig, "url"> | undefined => {
    const [, schema, prefix] = /^(?:([a-z_]\w{0,62})\.)?([a-z_]\w{0,31})$/i.exec(written) ?? [];
    return prefix === undefined
      ? undefined
      : { tablePrefix: prefix, ...(schema !== undefined && { schema }) };
  },
  wanted("a prefix for table names", "write letters, digits and _, like groupsync_ or ops.groupsync_"),
);

/** No capitals: LISTEN folds a name without quotes to small letters, and would hear nothing. */
const channel = scalar(
  (name) => (/^[a-z_][a-z0-9_]{0,62}$/.test(name) ? name : undefined),
  wanted("the name of a channel", "write small letters, digits and _, like groupsync_tokens"),
);

const cronLine = z
  .string(wanted("a cron line", 'write it like "*/5 * * * *"'))
  .superRefine((line, context) => {
    const { valid, errors } = validateDetailed(line);
    const field =
      errors[0] === undefined || errors[0].field === "expression" ? "" : ` (see its ${errors[0].field})`;
    const message = `{value} is not a cron line${field}; write minute, hour, day, month and weekday: "*/5 * * * *"`;
    if (!valid) context.addIssue({ code: "custom", message });
  });

const timeZone = scalar(
  (zone) => {
    try {
      new Intl.DateTimeFormat("en", { timeZone: zone });
      return zone;
    } catch {
      return undefined;
    }
  },
  wanted("a time zone", "write it like UTC or Europe/Berlin"),
);

const configFile = section(
  {
    name: scalar(
      (name) => (/^[\w.-]{1,64}$/.test(name) ? name : undefined),
      wanted("a name", "write text of up to 64 letters, digits, dots, dashes and underscores"),
    ).prefault("default"),
    service: section({
      base_url: baseUrl,
      api_key: apiKey,
      timeout: duration((ms) => ms > 0 && ms <= HOUR_MS, "a duration up to 1h", "write it like 15s").prefault(
        "15s",
      ),
      concurrency: wholeNumber(1, 1000, 8),
      rate_limit: scalar(parseRateLimit, wanted("a rate", "write it like 3/s, 170/min or 9000/h")).optional(),
      update: choice("upsert", "replace", "never").prefault("upsert"),
    }),
    source: section(
      {
        url: databaseUrl,
        table: table.optional(),
        query: query.optional(),
        where: condition.optional(),
        removed_when: condition.optional(),
      },
      tableOrQuery,
    ),
    group: section({
      id: column(
        wanted(
          "a column name",
          "write the name of one column; to compute an id, give it a name in source.query",
        ),
      ),
      name: nameRule,
      mapping: mappingRule,
      properties: propertiesRule,
      data_source_provided_id: dataSourceIdRule.optional(),
    }),
    tokens: section(
      {
        store: choice("table").prefault("table"),
        url: databaseUrl.optional(),
        table: table.optional(),
        rows: choice("own", "existing").prefault("own"),
        id_column: column().optional(),
        token_column: column().optional(),
        notify: channel.optional(),
      },
      existingRowsAreNamed,
    ),
    ledger: section({ url: databaseUrl.optional(), table_prefix: tablePrefix.prefault("groupsync_") }),
    deletion: section({
      when: choice("absent", "flagged", "never").prefault("absent"),
      grace_period: duration(() => true, "a duration", "write it like 15s, 24h or 90d").prefault("24h"),
      limit: section({ count: wholeNumber(0, 1_000_000, 3), percent: percentage(10) }),
    }),
    rotation: section(
      {
        max_age: duration((ms) => ms > 0, "a duration above zero", "write it like 90d").optional(),
        window: scalar(
          parseDailyWindow,
          wanted("a part of the day", 'write it like "02:00-05:00", by the clock of timezone'),
        ).optional(),
        max_per_run: number(
          (want) => z.int(want).min(1, want),
          wanted("a whole number from 1 on", "leave it out for no limit"),
        ).optional(),
        concurrency: wholeNumber(1, 100, 1),
      },
      limitsHaveAnAge,
    ),
    schedule: cronLine.prefault("*/5 * * * *"),
    timezone: timeZone.prefault("UTC"),
  },
  sectionsFitTogether,
);

/** What the parsed file has to be, key by key, with the defaults; its output is the whole config. */
export const configSchema = configFile.transform((file): Config => {
  const { service, source, group, tokens, ledger, deletion, rotation } = file;
  return {
    name: file.name,
    service: {
      baseUrl: service.base_url,
      apiKey: service.api_key,
      timeoutMs: service.timeout,
      concurrency: service.concurrency,
      ...(service.rate_limit && { rateLimit: service.rate_limit }),
      update: service.update,
    },
    source: {
      url: source.url,
      ...(source.table !== undefined && { table: source.table }),
      ...(source.query !== undefined && { query: source.query }),
      ...(source.where !== undefined && { where: source.where }),
      ...(source.removed_when !== undefined && { removedWhen: source.removed_when }),
    },
    group: {
      id: group.id,
      name: group.name,
      mapping: group.mapping,
      properties: group.properties,
      ...(group.data_source_provided_id && { dataSourceId: group.data_source_provided_id }),
    },
    tokens: {
      store: tokens.store,
      url: tokens.url ?? source.url,
      table: tokens.table ?? "groupsync_tokens",
      rows: tokens.rows,
      idColumn: tokens.id_column ?? "user_group_id",
      tokenColumn: tokens.token_column ?? "token",
      ...(tokens.notify !== undefined && { notify: tokens.notify }),
    },
    ledger: { url: ledger.url ?? source.url, ...ledger.table_prefix },
    deletion: {
      when: deletion.when,
      gracePeriodMs: deletion.grace_period,
      limit: { count: deletion.limit.count, percent: deletion.limit.percent },
    },
    rotation: {
      maxAgeMs: rotation.max_age ?? null,
      window: rotation.window ? { ...rotation.window, timeZone: file.timezone } : null,
      maxPerRun: rotation.max_per_run ?? null,
      concurrency: rotation.concurrency,
    },
    schedule: file.schedule,
    timezone: file.timezone,
  };
});
