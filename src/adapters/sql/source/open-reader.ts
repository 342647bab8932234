import type { SyncError } from "../../../core/failure/sync-error.ts";
import type { SourceRole } from "../../../ports/tenant-source.ts";
import type { Identifiers, TableName } from "../connection/identifiers.ts";
import type { TablePlace } from "../connection/table-place.ts";
import { type SourceFailures, sourceError } from "./source-checks.ts";
import {
  type SourceOptions,
  type SourceRequest,
  sourceRequest,
  tableOf,
  withTablePlace,
} from "./source-request.ts";
import type { SourceSession } from "./source-session.ts";
import type { TenantQuery } from "./tenant-query.ts";

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
