import type { Queryable } from "../connection/connections.ts";
import type { Dialect } from "../dialect/dialect.ts";
import type { LedgerTables } from "../dialect/ledger-tables.ts";

/** One scope of the ledger's tables, and the connection for its statements. Writes need a connection in a transaction. */
export interface LedgerScope {
  readonly dialect: Dialect;
  readonly connection: Queryable;
  readonly tables: LedgerTables;
  readonly scope: string;
}

/** A condition: the group is of scope $1 and its id is one of $2. */
export const ofIds = ({ dialect }: LedgerScope): string =>
  `scope = $1 AND ${dialect.isOneOf("user_group_id", "$2")}`;

/** PostgreSQL would refuse the other ids, and the ledger has none of them. */
export const possibleIds = (ids: readonly string[]): string[] => ids.filter((id) => storable(id) === id);

/** In UTF-16 code units. MariaDB refuses statements beyond 16 MB, and quoting can make a text four times as long. */
const BATCH_LENGTH = 1_000_000;

/**
 * The rows as JSON arrays, each small enough for one statement. A row that is longer than a batch has an array of its
 * own.
 */
export function* jsonBatches(rows: Iterable<object>): Generator<string> {
  let batch: string[] = [];
  let length = 0;
  for (const row of rows) {
    const text = JSON.stringify(row);
    if (batch.length > 0 && length + text.length > BATCH_LENGTH) {
      yield `[${batch.join(",")}]`;
      batch = [];
      length = 0;
    }
    batch.push(text);
    length += text.length;
  }
  if (batch.length > 0) yield `[${batch.join(",")}]`;
}

/**
 * Replaces characters from outside that a database can't store: half of a surrogate pair, which isn't UTF-8, and NUL.
 * MySQL could store NUL, but both databases have to keep the same text.
 */
export const storable = (text: string): string => text.toWellFormed().replaceAll("\0", "\ufffd");
