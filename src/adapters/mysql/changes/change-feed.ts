import type { ChangeFeed } from "../../../ports/change-feed.ts";
import { type ChangeDialect, type FeedOptions, SqlChangeFeed } from "../../sql/changes/change-feed.ts";
import { isFoundByIndex } from "../source/index-use.ts";
import type { MysqlSourceSession } from "../source/source-session.ts";
import { MYSQL } from "../source/tenant-source.ts";
import { changeQuery } from "./change-query.ts";

const CHANGES: ChangeDialect<MysqlSourceSession> = {
  source: MYSQL,
  changeQuery,
  // The server's plan depends on how many rows there are from the position on.
  isIndexed: (session, _, select, from) => isFoundByIndex(session, select(from)),
  createIndex: (table, column) => `CREATE INDEX ${indexName(table, column)} ON ${table} (${column})`,
};

/** MySQL gives an index no name of its own. */
const indexName = (table: string, column: string): string =>
  `\`${[table.split("`").at(-2), column.slice(1, -1)].join("_").slice(0, 64)}\``;

export const mysqlChangeFeed = (options: FeedOptions): ChangeFeed => new SqlChangeFeed(CHANGES, options);
