import type { ChangedRow, ChangePosition, NewestChange } from "../../../core/changes/change-window.ts";
import type { ChangeFeed, ChangeReader } from "../../../ports/change-feed.ts";
import { asText } from "../source/cells.ts";
import { type OpenReader, openReader, type SourceDialect } from "../source/open-reader.ts";
import type { SourceOptions, SourceRequest } from "../source/source-request.ts";
import type { SourceSession } from "../source/source-session.ts";
import {
  type ChangeQuery,
  type RawChange,
  type RawNewest,
  selectChanges,
  selectNewest,
} from "./change-query.ts";

/** What differs between the databases that can have a change column. */
export interface ChangeDialect<Session extends SourceSession> {
  readonly source: SourceDialect<Session>;
  /** Throws CONFIG_COLUMNS. */
  changeQuery(session: Session, request: SourceRequest, column: string): Promise<ChangeQuery>;
  /** Whether an index finds the rows of a SELECT that begins at a value of the column, such as `from`. */
  isIndexed(
    session: Session,
    change: ChangeQuery,
    select: (from: ChangePosition) => string,
    from: ChangePosition,
  ): Promise<boolean>;
  /** The statement that creates an index on a table. */
  createIndex(table: string, column: string): string;
}

export interface FeedOptions extends SourceOptions {
  readonly changeColumn: string;
  /** The columns of the groups, the id first. A row is another version if one of them has changed. */
  readonly columns: readonly string[];
}

/** Asks the change column over one connection. */
export class SqlChangeFeed<Session extends SourceSession> implements ChangeFeed {
  readonly #dialect: ChangeDialect<Session>;
  readonly #options: FeedOptions;

  constructor(dialect: ChangeDialect<Session>, options: FeedOptions) {
    this.#dialect = dialect;
    this.#options = options;
  }

  async open(stop: AbortSignal, before?: string | null): Promise<ChangeReader> {
    const { columns, changeColumn } = this.#options;
    const asked = { columns, seed: "changes", stop };
    const opened = await openReader(this.#dialect.source, this.#options, asked, before);
    const { session, request, explain } = opened;
    try {
      const change = await this.#dialect.changeQuery(session, request, changeColumn);
      await session.commit();
      return new SqlChangeReader(this.#dialect, opened, change);
    } catch (error) {
      await session.close();
      throw explain(error);
    }
  }
}

class SqlChangeReader<Session extends SourceSession> implements ChangeReader {
  readonly type: string;
  readonly #dialect: ChangeDialect<Session>;
  readonly #opened: OpenReader<Session>;
  readonly #change: ChangeQuery;

  constructor(dialect: ChangeDialect<Session>, opened: OpenReader<Session>, change: ChangeQuery) {
    this.type = change.type;
    this.#dialect = dialect;
    this.#opened = opened;
    this.#change = change;
  }

  newest(below: string | null = null): Promise<NewestChange | null> {
    return this.#explained(async () => {
      const newest = selectNewest(this.#change, this.#opened.query, below);
      const [row] = await this.#opened.session.look<RawNewest>(newest);
      return row === undefined ? null : { value: row[0], before: row[1], user_group_id: this.#idOf(row[2]) };
    });
  }

  rows(from: ChangePosition, limit: number, below: string | null = null): Promise<readonly ChangedRow[]> {
    return this.#explained(async () => {
      const rows = await this.#opened.session.look<RawChange>(this.#select(limit, below)(from));
      return rows.map(([value, id, digest]) => ({ user_group_id: this.#idOf(id), value, digest }));
    });
  }

  missingIndex(from: ChangePosition): Promise<string | null> {
    const { session, request } = this.#opened;
    return this.#explained(async () => {
      await session.begin();
      const isIndexed = await this.#dialect.isIndexed(session, this.#change, this.#select(1, null), from);
      await session.commit();
      if (isIndexed) return null;
      if (request.query !== undefined) {
        return `the database has to apply a condition on ${this.#change.column} before it does the rest of source.query, and to have an index for it: see docs/new-tenants.md`;
      }
      const statement = this.#dialect.createIndex(request.relation, this.#change.column);
      return `${statement}; or, if ${request.name} is a view, an index on the table that it reads`;
    });
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

  #select(limit: number, below: string | null): (from: ChangePosition) => string {
    return (from) => selectChanges(this.#change, this.#opened.query, { from, below, limit });
  }

  async #explained<T>(look: () => Promise<T>): Promise<T> {
    try {
      return await look();
    } catch (error) {
      throw this.#opened.explain(error);
    }
  }
}
