import type * as z from "zod";
import type { ChangesConfig, DatabaseUrl } from "../model/config.ts";
import { isMysql } from "./cross-checks.ts";
import { column } from "./rules.ts";
import { mustBe } from "./scalars.ts";
import { type CrossCheck, optionalSection } from "./section.ts";
import { channel, databaseUrl, duration, HOUR_MS } from "./values.ts";

const SHORTEST_PERIOD = 100;
const DEFAULT_PERIOD = 1_000;

const checkChanges: CrossCheck = function* ({ column, every, channel, url }) {
  if (every !== undefined && column === undefined) {
    yield ["every", "goes only with column, which is what it asks for; add column, or remove it"];
  }
  if (url === undefined) return;
  if (channel === undefined) {
    yield ["url", "goes only with channel, which is what listens there; add channel, or remove it"];
  } else if (isMysql(url)) {
    yield ["url", "leads to MySQL, which has no channels; write a url of PostgreSQL"];
  }
};

/** `source.changes`: how the daemon notices single tenants between two full syncs. */
export const changes = optionalSection(
  {
    column: column(
      mustBe("a column name", "write the name of one column that every insert and update moves"),
    ).optional(),
    every: duration(
      (ms) => ms >= SHORTEST_PERIOD && ms <= HOUR_MS,
      "a duration from 100ms to 1h",
      "write it like 1s",
    ).optional(),
    channel: channel("customers_changed").optional(),
    url: databaseUrl.optional(),
  },
  checkChanges,
);

/** Nothing if the section names neither a column nor a channel. */
export function changesOf(
  { column, every, channel, url }: z.output<typeof changes>,
  sourceUrl: DatabaseUrl,
): { readonly changes?: ChangesConfig } {
  if (column === undefined && channel === undefined) return {};
  return {
    changes: {
      ...(column !== undefined && { column: { name: column, everyMs: every ?? DEFAULT_PERIOD } }),
      ...(channel !== undefined && { channel: { name: channel, url: url ?? sourceUrl } }),
    },
  };
}
