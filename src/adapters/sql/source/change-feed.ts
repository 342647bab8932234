import type { ChangePosition } from "../../../core/changes/change-window.ts";
import { SyncError } from "../../../core/failure/sync-error.ts";
import type { ChangeFeed, ChangeReader } from "../../../ports/change-feed.ts";
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
export function sqlChangeFeed(dialect: SourceDialect, options: FeedOptions): ChangeFeed {
  return {
    async open(stop, before) {
      const { columns, changeColumn } = options;
      const asked = { columns, seed: "changes", stop };
      const opened = await openReader(dialect, options, asked, before);
      const { session, request, explain } = opened;
      try {
        const name = `source.changes.column: ${request.name}`;
        const asking = { ...request, name, columns: [changeColumn] };
        const { fields } = await readColumns(dialect, session, asking);
        const change = dialect.changeQuery(fields, changeColumn);
        await session.commit();
        return changeReader(dialect, opened, change);
      } catch (error) {
        await session.close();
        throw explain(error);
      }
    },
  };
}

function changeReader(dialect: SourceDialect, opened: OpenReader, change: ChangeQuery): ChangeReader {
  /** Null also for a text that is no id. */
  function idOf(text: string | null): string | null {
    const [parseId = asText] = opened.query.parsers;
    const id = text === null ? null : parseId(text);
    return typeof id === "string" ? id : null;
  }

  const selectFrom = (limit: number) => (from: ChangePosition) =>
    selectChanges(change, opened.query, from, limit);

  async function explained<T>(body: (session: SourceSession) => Promise<T>): Promise<T> {
    const { session, explain } = opened;
    try {
      return await body(session);
    } catch (error) {
      throw explain(error);
    }
  }

  return {
    type: change.type,
    async newest() {
      const select = selectNewest(change, opened.query);
      const [row] = await explained((session) => session.rowsAlone<RawNewest>(select));
      return row === undefined ? null : { value: row[0], before: row[1] };
    },
    async rows(from, limit) {
      const select = selectFrom(limit)(from);
      const rows = await explained((session) => session.rowsAlone<RawChange>(select));
      return rows.map(([value, id, digest]) => ({ user_group_id: idOf(id), value, digest }));
    },
    async missingIndex(from) {
      const { name, query, relation } = opened.request;
      const { column } = change;
      const isIndexed = await explained(async (session) => {
        await session.begin();
        const answer = await dialect.isChangeIndexed(session, change, selectFrom(1), from);
        await session.commit();
        return answer;
      });
      if (isIndexed) return null;
      return query === undefined
        ? `create an index on the column ${column} of ${relation}; if ${name} is a view, of the table that it reads`
        : `the database has to apply a condition on ${column} before it does the rest of source.query, and to have an index for it`;
    },
    close: () => opened.session.close(),
  };
}

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
