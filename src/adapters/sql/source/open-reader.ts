import { describe, SyncError } from "../../../core/failure/sync-error.ts";
import { databaseError } from "../connection/failures.ts";
import { nameOf } from "../connection/identifiers.ts";
import { quotePlace } from "../connection/table-place.ts";
import { readColumns } from "./columns.ts";
import type {
  SourceDialect,
  SourceFailures,
  SourceOptions,
  SourceRequest,
  SourceSession,
} from "./source-dialect.ts";
import { marksOf, type TenantQuery } from "./tenant-query.ts";

/** What a reader asks for: the parameters of `TenantSource.open`. */
export interface Asked {
  readonly columns: readonly string[];
  readonly seed: string;
  readonly stop: AbortSignal;
}

/** A connection in a transaction that knows the columns. */
export interface OpenReader {
  readonly session: SourceSession;
  readonly request: SourceRequest;
  /** For people: `schema.table`, or null for a query. */
  readonly table: string | null;
  readonly query: TenantQuery;
  /** Turns what the driver threw into an error for the operator. */
  readonly explain: (error: unknown) => SyncError;
}

/**
 * Opens a connection, begins its transaction, and finds out the columns. `before` is the table that was read last, if there
 * was one: a table that stands in for it is not read.
 */
export async function openReader(
  dialect: SourceDialect,
  options: SourceOptions,
  { columns, seed, stop }: Asked,
  before: string | null | undefined,
): Promise<OpenReader> {
  const asWritten = requestOf(dialect, options, columns, seed);
  const explain = (error: unknown) => sourceError(asWritten, dialect.failures, error);
  let opened: SourceSession | undefined;
  try {
    const session = await dialect.open(options, stop);
    opened = session;
    await session.begin();
    const place =
      options.table === undefined
        ? undefined
        : await dialect.findTable(session, nameOf(options.table), asWritten);
    const table = place ? `${place.schema}.${place.table}` : null;
    if (before != null && table !== null && before !== table) throw moved(before, table);
    // Named by its schema: a table of the same name that appears in another schema during the read changes nothing.
    const request = place
      ? { ...asWritten, place, relation: quotePlace(dialect.identifiers, place) }
      : asWritten;
    const { fields, select } = await readColumns(dialect, session, request);
    const query = {
      ...(await dialect.tenantQuery(session, request, fields)),
      ...marksOf(request),
      relation: request.relation,
      columns: select,
      conditions: request.where === undefined ? [] : [request.where],
    };
    return { session, request, table, query, explain };
  } catch (error) {
    await opened?.close();
    throw explain(error);
  }
}

/** The request with the table's name as the config has it. */
function requestOf(
  { identifiers, grantee }: Pick<SourceDialect<never>, "identifiers" | "grantee">,
  { url, table, query, where, removedWhen, readyWhen }: SourceOptions,
  columns: readonly string[],
  seed: string,
): SourceRequest {
  const name = decodeURIComponent(new URL(url.reveal()).username);
  const reader = name === "" ? { user: "the user", grantee: "…" } : { user: name, grantee: grantee(name) };
  const asked = { ...reader, where, removedWhen, readyWhen, columns, seed };
  if (table !== undefined) return { name: table, relation: identifiers.quoteTable(table), ...asked };
  const bare = (query ?? "").replace(/[\s;]+$/, "");
  // The line break ends a comment that the query may end with.
  return { name: "source.query", relation: `(${bare}\n) AS tenants`, query: bare, ...asked };
}

const moved = (before: string, now: string): SyncError =>
  new SyncError(
    "CONFIG_TABLE_MOVED",
    `tenants were read from ${before}, and the same config now leads to ${now}`,
    {
      hint: "find out who made that table before anything else; nothing was read from it. Write the one that is meant in source.table, with its schema",
    },
  );

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
const missingRight = ({ name, user }: SourceRequest): string =>
  `find out why ${name} needs that, for whoever owns a view or a function in it can make it ask for anything; if it is right, grant the right to ${user}, or to the owner of the view. Conditions in source need SELECT on each column that they read`;

/** Names the view's owner too: a view reads its tables as its owner, unless it is a security_invoker view. */
const seesAllRows = ({ grantee }: SourceRequest): string =>
  `a tenant that a policy hides would count as gone: ALTER ROLE ${grantee} BYPASSRLS, or that for the owner of the view that reads this table; or set source.row_security: filter, if the groups of all tenants that it hides may be deleted`;
