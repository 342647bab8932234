import { describe, SyncError } from "../../../core/failure/sync-error.ts";
import type { SourceRole } from "../../../ports/tenant-source.ts";
import { databaseError, type Failures } from "../connection/failures.ts";
import type { Identifiers, TableName } from "../connection/identifiers.ts";
import type { TablePlace } from "../connection/table-place.ts";
import type { WaitLimits } from "../connection/wait-limits.ts";
import {
  type SourceOptions,
  type SourceRequest,
  sourceRequest,
  tableOf,
  withTablePlace,
} from "./source-request.ts";
import type { TenantQuery } from "./tenant-query.ts";

/** A connection that reads in read-only transactions, each of which sees one moment. */
export interface SourceSession {
  /** False once the connection is closed or known to be broken. */
  readonly isOpen: boolean;
  begin(): Promise<void>;
  /** Ends the transaction, and keeps the connection. */
  commit(): Promise<void>;
  query<Row extends object>(sql: string): Promise<Row[]>;
  /** Describes a query's columns without reading a row. As long as names and types stay the same, so does the text. */
  describe(sql: string): Promise<string>;
  /** Has the server check a statement without running it. */
  prepare(sql: string): Promise<void>;
  /** Reads a query's rows, as arrays, at once: for a query with few rows. */
  rows<Row extends readonly unknown[]>(sql: string, limits: WaitLimits): Promise<Row[]>;
  /** Like `rows`, in a transaction of its own: as often as every second. */
  look<Row extends readonly unknown[]>(sql: string): Promise<Row[]>;
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
  /** A policy may hide rows from this user. */
  mayHideRows(error: unknown): boolean;
}

/** What differs between the databases that can be a source. */
export interface SourceDialect<Session extends SourceSession> {
  readonly identifiers: Identifiers;
  readonly failures: SourceFailures;
  /** A user as a GRANT names it. */
  grantee(user: string): string;
  /** Rejects with INTERRUPTED once `stop` aborts, as all methods of the session do. */
  open(options: SourceOptions, stop: AbortSignal): Promise<Session>;
  findTable(session: Session, name: TableName, request: SourceRequest): Promise<TablePlace | undefined>;
  /** Looks the columns up without reading a row. Throws CONFIG_COLUMNS or CONFIG_SOURCE if the config is wrong. */
  tenantQuery(session: Session, request: SourceRequest): Promise<TenantQuery>;
  /**
   * Whether the plan for a look at one id reads only rows that an index finds by this id. Needs a transaction.
   */
  isIndexed(session: Session, query: TenantQuery): Promise<boolean>;
  role(session: Session, options: SourceOptions): Promise<SourceRole>;
}

/** What a reader asks for: the parameters of `TenantSource.open`. */
export interface Asked {
  readonly columns: readonly string[];
  readonly seed: string;
  readonly stop: AbortSignal;
}

/** A connection in a transaction that has looked the columns up. */
export interface OpenReader<Session> {
  readonly session: Session;
  readonly request: SourceRequest;
  readonly table: string | null;
  readonly query: TenantQuery;
  /** Turns what the driver threw into an error for the operator. */
  readonly explain: (error: unknown) => SyncError;
}

/** Opens a connection, begins its transaction, and looks the columns up. */
export async function openReader<Session extends SourceSession>(
  dialect: SourceDialect<Session>,
  options: SourceOptions,
  asked: Asked,
  before: string | null | undefined,
): Promise<OpenReader<Session>> {
  const explain = explainer(dialect, options, asked);
  let opened: Session | undefined;
  try {
    const session = await dialect.open(options, asked.stop);
    opened = session;
    await session.begin();
    const written = requestOf(dialect, options, asked);
    const find = (name: TableName) => dialect.findTable(session, name, written);
    const request = await withTablePlace(written, options, dialect.identifiers, find, before);
    const query = await dialect.tenantQuery(session, request);
    return { session, request, table: tableOf(request), query, explain };
  } catch (error) {
    await opened?.close();
    throw explain(error);
  }
}

export function explainer<Session extends SourceSession>(
  dialect: SourceDialect<Session>,
  options: SourceOptions,
  asked: Asked,
): (error: unknown) => SyncError {
  const request = requestOf(dialect, options, asked);
  return (error) => sourceError(request, dialect.failures, error);
}

const requestOf = <Session extends SourceSession>(
  { identifiers, grantee }: SourceDialect<Session>,
  options: SourceOptions,
  { columns, seed }: Asked,
): SourceRequest => sourceRequest(options, { ...identifiers, grantee }, columns, seed);

function sourceError(request: SourceRequest, failures: SourceFailures, error: unknown): SyncError {
  const { name, query, where, removedWhen, readyWhen } = request;
  if (!failures.isSqlMistake(error)) {
    const hintFor = (cause: unknown): string | undefined => {
      if (failures.mayHideRows(cause)) return seesAllRows(request);
      return failures.mayNotRead(cause) ? missingRight(request) : failures.hintFor(cause);
    };
    return databaseError({ hintFor }, "SOURCE_UNAVAILABLE", `cannot read ${name}`, error);
  }
  const given = [
    ["source.query", query],
    ["source.where", where],
    ["source.removed_when", removedWhen],
    ["source.ready_when", readyWhen],
  ].flatMap(([key, sql]) => (sql === undefined ? [] : [key]));
  return new SyncError("CONFIG_SOURCE", `cannot read ${name}: ${describe(error)}`, {
    ...(given.length > 0 && { hint: `check ${given.join(", ")}: SQL of this database` }),
    cause: error,
  });
}

/**
 * Proposes no GRANT on anything that the server's error names: whoever owns a view or a function in the source can make
 * the error say what they want, and an operator may run the hint.
 */
function missingRight({
  name,
  user,
  grantee,
  relation,
  query,
  where,
  removedWhen,
  readyWhen,
}: SourceRequest): string {
  const reason = `find out why ${name} needs that, for whoever owns a view or a function in it can make it ask for anything`;
  if (query !== undefined) return `${reason}; if it is right, grant the right to ${user}`;
  // The server names no column, and the config's own SQL may read any.
  if ([where, removedWhen, readyWhen].some((sql) => sql !== undefined)) {
    return `GRANT SELECT (…) ON ${relation} TO ${grantee}, with each column that the conditions in source read; if that isn't it, ${reason}`;
  }
  return `${reason}; if it is right, grant the right to ${user}, or to the owner of ${name} if that is a view`;
}

/** Names the view's owner too: a view reads its tables as its owner, unless it is a security_invoker view. */
const seesAllRows = ({ grantee }: SourceRequest): string =>
  `a tenant that a policy hides would count as gone: ALTER ROLE ${grantee} BYPASSRLS, or that for the owner of the view that reads this table; or set source.row_security: filter, if the groups of all tenants that it hides may be deleted`;
