import type { ChangedRow, ChangePosition, NewestChange } from "../../../core/changes/change-window.ts";
import { SyncError } from "../../../core/failure/sync-error.ts";
import type { ChangeFeed, ChangeReader } from "../../../ports/change-feed.ts";
import { STEP } from "../connection/wait-limits.ts";
import { asText } from "./cells.ts";
import { readColumns } from "./columns.ts";
import { type OpenReader, openReader } from "./open-reader.ts";
import type { ChangeQuery, SourceDialect, SourceOptions, SourceSession } from "./source-dialect.ts";
import { type TenantQuery, whereAll } from "./tenant-query.ts";

export interface FeedOptions extends SourceOptions {
  readonly changeColumn: string;
  /** The columns of the groups, the id first. A row is another version if one of them has changed. */
  readonly columns: readonly string[];
}

/** Asks the change column over one connection. */
export class SqlChangeFeed implements ChangeFeed {
  readonly #dialect: SourceDialect;
  readonly #options: FeedOptions;

  constructor(dialect: SourceDialect, options: FeedOptions) {
    this.#dialect = dialect;
    this.#options = options;
  }

  async open(stop: AbortSignal, before?: string | null): Promise<ChangeReader> {
    const { columns, changeColumn } = this.#options;
    const asked = { columns, seed: "changes", stop };
    const opened = await openReader(this.#dialect, this.#options, asked, before);
    const { session, request, explain } = opened;
    try {
      const name = `source.changes.column: ${request.name}`;
      const asking = { ...request, name, columns: [changeColumn] };
      const { fields } = await readColumns(this.#dialect, session, asking);
      const change = this.#dialect.changeQuery(fields, changeColumn);
      await session.commit();
      return new SqlChangeReader(this.#dialect, opened, change);
    } catch (error) {
      await session.close();
      throw explain(error);
    }
  }
}

class SqlChangeReader implements ChangeReader {
  readonly type: string;
  readonly #dialect: SourceDialect;
  readonly #opened: OpenReader;
  readonly #change: ChangeQuery;

  constructor(dialect: SourceDialect, opened: OpenReader, change: ChangeQuery) {
    this.type = change.type;
    this.#dialect = dialect;
    this.#opened = opened;
    this.#change = change;
  }

  async newest(): Promise<NewestChange | null> {
    const select = selectNewest(this.#change, this.#opened.query);
    const [row] = await this.#ask((session) => session.rows<RawNewest>(select, STEP));
    return row === undefined ? null : { value: row[0], before: row[1] };
  }

  async rows(from: ChangePosition, limit: number): Promise<readonly ChangedRow[]> {
    const select = this.#select(limit)(from);
    const rows = await this.#ask((session) => session.rows<RawChange>(select, STEP));
    return rows.map(([value, id, digest]) => ({ user_group_id: this.#idOf(id), value, digest }));
  }

  async missingIndex(from: ChangePosition): Promise<string | null> {
    const { name, query, relation } = this.#opened.request;
    const { column } = this.#change;
    const isIndexed = await this.#ask((session) =>
      this.#dialect.isChangeIndexed(session, this.#change, this.#select(1), from),
    );
    if (isIndexed) return null;
    return query === undefined
      ? `create an index on the column ${column} of ${relation}; if ${name} is a view, of the table that it reads`
      : `the database has to apply a condition on ${column} before it does the rest of source.query, and to have an index for it`;
  }

  close(): Promise<void> {
    return this.#opened.session.close();
  }

  /** Null also for a text that is no id. */
  #idOf(text: string | null): string | null {
    const [parseId = asText] = this.#opened.query.parsers;
    const id = text === null ? null : parseId(text);
    return typeof id === "string" ? id : null;
  }

  #select(limit: number): (from: ChangePosition) => string {
    return (from) => selectChanges(this.#change, this.#opened.query, from, limit);
  }

  /** Asks in a transaction of its own. */
  async #ask<T>(ask: (session: SourceSession) => Promise<T>): Promise<T> {
    const { session, explain } = this.#opened;
    try {
      await session.begin();
      const answer = await ask(session);
      await session.commit();
      return answer;
    } catch (error) {
      throw explain(error);
    }
  }
}

/** Value, id and digest of a row. */
type RawChange = readonly [value: string, id: string | null, digest: string];

type RawNewest = readonly [value: string, before: string];

/** The SELECT for the rows from a position on. The names of its columns are no customer's: ORDER BY would take them first. */
function selectChanges(
  change: ChangeQuery,
  { relation, conditions, selected, digest }: TenantQuery,
  from: ChangePosition,
  limit: number,
): string {
  const wanted = [...conditions, change.counts, ...valuesFrom(change, from)];
  return `SELECT ${change.text} AS groupsync_value, ${selected[0]} AS groupsync_id, ${digest} AS groupsync_digest
    FROM ${relation} ${whereAll(wanted)} ORDER BY ${change.column} LIMIT ${limit}`;
}

const valuesFrom = ({ column, literal, operator }: ChangeQuery, from: ChangePosition): string[] =>
  from === null ? [] : [`${column} ${operator(from.isIncluded ? ">=" : ">")} ${literal(from.value)}`];

/**
 * The SELECT for the newest value, and the value before it. Over all rows, also those that aren't tenants: with a condition
 * that few rows fulfil, the search for the newest one could read all of them.
 */
const selectNewest = (
  { column, text, before, counts }: ChangeQuery,
  { relation }: Pick<TenantQuery, "relation">,
): string =>
  `SELECT ${text} AS groupsync_value, ${before} AS groupsync_before
    FROM ${relation} WHERE ${counts} ORDER BY ${column} DESC LIMIT 1`;

export const wrongChangeType = (column: string, right: string): SyncError =>
  new SyncError(
    "CONFIG_COLUMNS",
    `source.changes.column: the type of column ${column} doesn't tell which row is newer`,
    {
      hint: `name a column of another type: ${right}`,
    },
  );
