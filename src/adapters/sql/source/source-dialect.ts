import type { ChangePosition } from "../../../core/changes/change-window.ts";
import type { SourceRole } from "../../../ports/tenant-source.ts";
import type { Failures } from "../connection/failures.ts";
import type { Identifiers, TableName } from "../connection/identifiers.ts";
import type { SessionOptions } from "../connection/session-waits.ts";
import type { TablePlace } from "../connection/table-place.ts";
import type { WaitLimits } from "../connection/wait-limits.ts";
import type { SensitiveTable } from "./sensitive-tables.ts";
import type { DialectQuery, SourceConditions, TenantQuery } from "./tenant-query.ts";

/** Where the tenants are, as the config says it. */
export interface SourceOptions extends SourceConditions, Omit<SessionOptions, "stop"> {
  /** Exactly one of `table` and `query`. */
  readonly table?: string | undefined;
  readonly query?: string | undefined;
  /** PostgreSQL: whether a policy that hides rows is an error (the default), or the visible rows are all that count. */
  readonly rowSecurity?: "error" | "filter" | undefined;
  /** The tables of this database that the source's user should not be able to read. None if left out. */
  readonly sensitiveTables?: (() => Promise<readonly SensitiveTable[]>) | undefined;
}

/** What one read asks of the source. */
export interface SourceRequest extends SourceConditions {
  /** For messages. */
  readonly name: string;
  /** The user that reads, and how a GRANT names it. */
  readonly user: string;
  readonly grantee: string;
  /** What stands after FROM. */
  readonly relation: string;
  /** The config's query, if the source is one. */
  readonly query?: string | undefined;
  /** Where the table is, if the source is one. */
  readonly place?: TablePlace | undefined;
  /** The id first. */
  readonly columns: readonly string[];
  /** Goes into every digest. */
  readonly seed: string;
}

/** A connection that reads in read-only transactions, each of which sees one moment. */
export interface SourceSession {
  /** False once the connection is closed or known to be broken. */
  readonly isOpen: boolean;
  begin(): Promise<void>;
  /** Ends the transaction, and keeps the connection. */
  commit(): Promise<void>;
  query<Row extends object>(sql: string): Promise<Row[]>;
  /** What the server says of a query's columns. */
  fields(sql: string): Promise<readonly { readonly name: string }[]>;
  /** Describes a query's columns without reading a row. As long as names and types stay the same, so does the text. */
  describe(sql: string): Promise<string>;
  /** Reads a query's rows, as arrays, at once: for a query with few rows. */
  rows<Row extends readonly unknown[]>(sql: string, limits: WaitLimits): Promise<Row[]>;
  /** The same for a query that is a transaction of its own, in one round trip. After an error the session has to be closed. */
  rowsAlone<Row extends readonly unknown[]>(sql: string): Promise<Row[]>;
  /** Streams a query's rows, as arrays, in batches of at most `size`. */
  batches<Row extends readonly unknown[]>(sql: string, size: number): AsyncIterable<Row[]>;
  /** Ends the transaction with the connection: there is nothing to commit. Idempotent. */
  close(): Promise<void>;
}

/** Tells apart the errors of a read. */
export interface SourceFailures extends Pick<Failures, "hintFor"> {
  /** The SQL itself is wrong, or does something that a read can't do, such as a write. */
  isSqlMistake(error: unknown): boolean;
  /** The user lacks a right to something that the read needs. */
  mayNotRead(error: unknown): boolean;
  mayHideRows(error: unknown): boolean;
}

/** The parts of the SQL that asks the change column, in one database's dialect. */
export interface ChangeQuery {
  /** The column's type, for messages and to recognise another one. */
  readonly type: string;
  /** Whether the values are times and not numbers. */
  readonly isTime: boolean;
  /** The column, quoted. */
  readonly column: string;
  /** The exact text of the column's value. */
  readonly text: string;
  /** The exact text of the value that lies `OVERLAP_MS` before the column's. */
  readonly before: string;
  /** A predicate that is true for values that count: not null, and not too far ahead of the database's clock. */
  readonly counts: string;
  /** A value in SQL, from its exact text. */
  literal(text: string): string;
  /** The database's own operator with this symbol. */
  operator(symbol: ">=" | ">"): string;
}

/** A column of the source's table, as the catalog has it. */
export interface CatalogColumn {
  readonly name: string;
  /** Whether the user has the right to read it. */
  readonly isReadable: boolean;
}

export type FieldsOf<Session extends SourceSession> = Awaited<ReturnType<Session["fields"]>>;

/** What differs between the databases that can be a source. */
export interface SourceDialect<Session extends SourceSession = SourceSession> {
  readonly identifiers: Identifiers;
  readonly failures: SourceFailures;
  /** A user as a GRANT names it. */
  grantee(user: string): string;
  /** Rejects with INTERRUPTED once `stop` aborts, as all methods of the session do. */
  open(options: SourceOptions, stop: AbortSignal): Promise<Session>;
  findTable(session: Session, name: TableName, request: SourceRequest): Promise<TablePlace | undefined>;
  /** The table's columns. MySQL hides those to which the user has no right at all. */
  catalogColumns(session: Session, place: TablePlace): Promise<readonly CatalogColumn[]>;
  /** `fields` describe the request's columns. Throws CONFIG_COLUMNS if no id can be of the first one's type. */
  tenantQuery(session: Session, request: SourceRequest, fields: FieldsOf<Session>): Promise<DialectQuery>;
  /** Whether the plan for a lookup of one id reads only rows that an index finds by this id. Needs a transaction. */
  isIndexed(session: Session, query: TenantQuery): Promise<boolean>;
  role(session: Session, options: SourceOptions): Promise<SourceRole>;
  /** `fields` describe the change column alone. Throws CONFIG_COLUMNS if its type doesn't tell which row is newer. */
  changeQuery(fields: FieldsOf<Session>, column: string): ChangeQuery;
  /** Whether an index finds the rows of a SELECT that begins at a value of the change column, such as `from`. */
  isChangeIndexed(
    session: Session,
    change: ChangeQuery,
    select: (from: ChangePosition) => string,
    from: ChangePosition,
  ): Promise<boolean>;
}
