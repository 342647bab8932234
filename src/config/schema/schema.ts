import * as z from "zod";
import type { ObjectRule } from "../../core/group/group-rules.ts";
import { parseRateLimit } from "../../core/limits/rate-limit.ts";
import { parseDailyWindow } from "../../core/rotation/rotation-policy.ts";
import { UNKNOWN_SCHEMA } from "../../core/setup/setup.ts";
import { isScopeName } from "../../core/tokens/destination.ts";
import type { Config } from "../model/config.ts";
import { changes, changesOf } from "./changes.ts";
import { checkSections, isMysql } from "./cross-checks.ts";
import { allowHttp, httpIsAllowed } from "./plain-http.ts";
import { column, dataSourceIdRule, mappingRule, nameRule, propertiesRule } from "./rules.ts";
import { choice, flag, mustBe, number, parsedText } from "./scalars.ts";
import { type CrossCheck, isRecord, optionalSection, section } from "./section.ts";
import { tokenStores } from "./token-stores.ts";
import {
  apiKey,
  baseUrl,
  condition,
  cronLine,
  databaseUrl,
  duration,
  HOUR_MS,
  hostName,
  listenAddress,
  percentage,
  query,
  syncKey,
  table,
  tablePrefix,
  timeZone,
  webUrl,
  wholeNumber,
} from "./values.ts";

const checkSource: CrossCheck = function* ({ url, table, query, where, changes, row_security }) {
  if (table !== undefined && query !== undefined) {
    yield ["query", "cannot stand beside table; keep one of the two"];
  } else if (table === undefined && query === undefined) {
    yield ["table", "is missing; name the table or view that has one row a tenant, or write a query"];
  }
  if (where !== undefined && table === undefined) {
    yield ["where", "goes only with table; put the condition into the query"];
  }
  if (row_security !== undefined && isMysql(url)) {
    yield ["row_security", "is about the policies of PostgreSQL, and MySQL has none; leave it out"];
  }
  if (isRecord(changes) && changes.channel !== undefined && isMysql(url)) {
    yield [
      "changes.channel",
      "is a channel of PostgreSQL, and source.url leads to MySQL, which has none; use changes.column",
    ];
  }
};

/** Refuses the placeholder that `groupsync init` writes for a schema id that it doesn't know. */
const checkGroup: CrossCheck = function* ({ mapping }, isRight) {
  if (!isRight("mapping")) return;
  const rule = mapping as ObjectRule;
  if (rule.kind !== "keys" || rule.keys[UNKNOWN_SCHEMA] === undefined) return;
  yield [
    `mapping.${UNKNOWN_SCHEMA}`,
    "stands for the id of one of the service's schemas; write that id in its place",
  ];
};

const checkRotation: CrossCheck = function* (rotation) {
  if (rotation.max_age !== undefined) return;
  for (const key of ["window", "max_per_run"]) {
    if (rotation[key] === undefined) continue;
    yield [key, "goes only with max_age, without which no sync rotates; add max_age, like 90d"];
  }
};

const checkHttp: CrossCheck = function* ({ listen, sync_key }) {
  if (sync_key !== undefined && listen === "off") {
    yield ["sync_key", "is for requests to http.listen, which is off; remove it, or write an address there"];
  }
};

const configFile = section(
  {
    name: parsedText(
      (name) => (isScopeName(name) ? name : undefined),
      mustBe("a name", "write text of up to 64 letters, digits, dots, dashes and underscores"),
    ).prefault("default"),
    service: section(
      {
        base_url: baseUrl,
        allow_http: allowHttp,
        api_key: apiKey,
        timeout: duration(
          (ms) => ms > 0 && ms <= HOUR_MS,
          "a duration up to 1h",
          "write it like 15s",
        ).prefault("15s"),
        concurrency: wholeNumber(1, 1000, 8),
        rate_limit: parsedText(
          parseRateLimit,
          mustBe("a rate", "write it like 3/s, 170/min or 9000/h"),
        ).optional(),
        update: choice("upsert", "replace", "never").prefault("upsert"),
        refresh: duration((ms) => ms >= HOUR_MS, "a duration of 1h or more", "write it like 7d").optional(),
      },
      httpIsAllowed("base_url"),
    ),
    source: section(
      {
        url: databaseUrl,
        table: table.optional(),
        query: query.optional(),
        where: condition("status = 'active'").optional(),
        removed_when: condition("deleted_at IS NOT NULL").optional(),
        ready_when: condition("warehouse_ref IS NOT NULL").optional(),
        changes,
        row_security: choice("error", "filter").optional(),
      },
      checkSource,
    ),
    group: section(
      {
        id: column(
          mustBe(
            "a column name",
            "write the name of one column; to compute an id, give it a name in source.query",
          ),
        ),
        name: nameRule,
        mapping: mappingRule,
        properties: propertiesRule,
        data_source_provided_id: dataSourceIdRule.optional(),
      },
      checkGroup,
    ),
    tokens: tokenStores,
    ledger: optionalSection({
      url: databaseUrl.optional(),
      table_prefix: tablePrefix.prefault("groupsync_"),
    }),
    deletion: optionalSection({
      when: choice("absent", "flagged", "never").prefault("absent"),
      grace_period: duration(() => true, "a duration", "write it like 15s, 24h or 90d").prefault("24h"),
      limit: optionalSection({ count: wholeNumber(0, 1_000_000, 3), percent: percentage(10) }),
    }),
    rotation: optionalSection(
      {
        max_age: duration((ms) => ms > 0, "a duration above zero", "write it like 90d").optional(),
        window: parsedText(
          parseDailyWindow,
          mustBe("a part of the day", 'write it like "02:00-05:00", by the clock of timezone'),
        ).optional(),
        max_per_run: number(
          (requirement) => z.int(requirement).min(1, requirement),
          mustBe("a whole number from 1 on", "leave it out for no limit"),
        ).optional(),
        concurrency: wholeNumber(1, 100, 1),
      },
      checkRotation,
    ),
    // `default` and not `prefault`, because to check a cron line and a time zone takes longer than to check all other
    // keys.
    schedule: cronLine.default("*/5 * * * *"),
    timezone: timeZone.default("UTC"),
    jitter: duration((ms) => ms <= HOUR_MS, "a duration up to 1h", "write it like 30s").prefault("0"),
    run_at_start: flag.prefault(true),
    shutdown_timeout: duration(
      (ms) => ms > 0 && ms <= HOUR_MS,
      "a duration up to 1h",
      "write it like 25s",
    ).prefault("25s"),
    history: duration((ms) => ms >= HOUR_MS, "a duration of 1h or more", "write it like 90d").prefault("90d"),
    http: optionalSection(
      {
        listen: listenAddress.optional(),
        allowed_hosts: z
          .array(hostName, { error: "write a list of host names, like [groupsync.internal]" })
          .optional(),
        stale_after: duration((ms) => ms > 0, "a duration above zero", "write it like 15m").optional(),
        sync_key: syncKey.optional(),
      },
      checkHttp,
    ),
    notify: optionalSection(
      { webhook: webUrl.optional(), heartbeat: webUrl.optional(), allow_http: allowHttp },
      httpIsAllowed("webhook", "heartbeat"),
    ),
  },
  checkSections,
);

/** The schema of the config file. Its input has the keys of the file, and its output is the complete config. */
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
      ...(service.refresh !== undefined && { refreshMs: service.refresh }),
    },
    source: {
      url: source.url,
      ...(source.table !== undefined && { table: source.table }),
      ...(source.query !== undefined && { query: source.query }),
      ...(source.where !== undefined && { where: source.where }),
      ...(source.removed_when !== undefined && { removedWhen: source.removed_when }),
      ...(source.ready_when !== undefined && { readyWhen: source.ready_when }),
      ...changesOf(source.changes, source.url),
      ...(source.row_security !== undefined && { rowSecurity: source.row_security }),
    },
    group: {
      id: group.id,
      name: group.name,
      mapping: group.mapping,
      properties: group.properties,
      ...(group.data_source_provided_id && { dataSourceId: group.data_source_provided_id }),
    },
    tokens: tokens.map((store) =>
      store.store === "table" ? { ...store, url: store.url ?? source.url } : store,
    ),
    ledger: {
      url: ledger.url ?? source.url,
      ...ledger.table_prefix,
      owners: tokens.flatMap((store) => (store.store === "table" ? (store.owner ?? []) : [])),
    },
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
    schedule: {
      line: file.schedule,
      timezone: file.timezone,
      jitterMs: file.jitter,
      runAtStart: file.run_at_start,
    },
    shutdownTimeoutMs: file.shutdown_timeout,
    historyMs: file.history,
    http: {
      ...(file.http.listen && { listen: file.http.listen }),
      ...(file.http.allowed_hosts && { allowedHosts: file.http.allowed_hosts }),
      ...(file.http.stale_after !== undefined && { staleAfterMs: file.http.stale_after }),
      ...(file.http.sync_key && { syncKey: file.http.sync_key }),
    },
    notify: {
      ...(file.notify.webhook && { webhook: file.notify.webhook }),
      ...(file.notify.heartbeat && { heartbeat: file.notify.heartbeat }),
    },
  };
});
