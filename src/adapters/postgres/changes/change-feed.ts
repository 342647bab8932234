import type { ChangePosition } from "../../../core/changes/change-window.ts";
import type { ChangeFeed } from "../../../ports/change-feed.ts";
import { type ChangeDialect, type FeedOptions, SqlChangeFeed } from "../../sql/changes/change-feed.ts";
import type { ChangeQuery } from "../../sql/changes/change-query.ts";
import { isFoundByIndex } from "../source/index-use.ts";
import type { PostgresSourceSession } from "../source/source-session.ts";
import { POSTGRES } from "../source/tenant-source.ts";
import { changeQuery } from "./change-query.ts";

const CHANGES: ChangeDialect<PostgresSourceSession> = {
  source: POSTGRES,
  changeQuery,
  isIndexed,
  createIndex: (table, column) => `CREATE INDEX CONCURRENTLY ON ${table} (${column})`,
};

export const postgresChangeFeed = (options: FeedOptions): ChangeFeed => new SqlChangeFeed(CHANGES, options);

/** Conspicuous in a plan, and right for any type of time or number. */
const PROBES = { time: "2001-02-03 04:05:06.789", number: "31415" } as const;

function isIndexed(
  session: Pick<PostgresSourceSession, "query">,
  { isTime }: ChangeQuery,
  select: (from: ChangePosition) => string,
): Promise<boolean> {
  const value = isTime ? PROBES.time : PROBES.number;
  return isFoundByIndex(session, select({ value, isIncluded: true }), value);
}
