import { describe, SyncError } from "../../../core/failure/sync-error.ts";
import { databaseError, type Failures } from "../connection/failures.ts";
import type { SourceRequest } from "./source-request.ts";
import type { SourceSession } from "./source-session.ts";
import { type TenantQuery, whereAll } from "./tenant-query.ts";

/** Tells apart the errors of a read. */
export interface SourceFailures extends Pick<Failures, "hintFor"> {
  /** The SQL itself is wrong, or does something that a read can't do, such as a write. */
  isSqlMistake(error: unknown): boolean;
  /** The user lacks a right to something that the read needs. */
  mayNotRead(error: unknown): boolean;
  /** A policy may hide rows from this user. */
  mayHideRows(error: unknown): boolean;
}

export const wrongIdType = (column: string, type: string): SyncError =>
  new SyncError("CONFIG_COLUMNS", `group.id: column ${column} is of type ${type}`, {
    hint: "an id is a text, integer or uuid column; a query can cast another type to text",
  });

/**
 * Rejects with CONFIG_SOURCE if the config's SQL is wrong. The predicates are tried as the read uses them, each alone, so
 * that the error names the right key.
 */
export async function checkSql(
  session: Pick<SourceSession, "query" | "prepare">,
  failures: SourceFailures,
  request: SourceRequest,
  { removed, notReady }: Pick<TenantQuery, "removed" | "notReady">,
): Promise<void> {
  const { name, relation } = request;
  const tries = [
    { key: "source.removed_when", rows: "the removed rows", predicate: removed },
    { key: "source.ready_when", rows: "the rows that are ready", predicate: notReady },
  ];
  for (const { key, rows, predicate } of tries) {
    if (predicate === undefined) continue;
    const readMarked = session.query(`SELECT 1 FROM ${relation} ${whereAll([predicate])} LIMIT 0`);
    await readMarked.catch((error: unknown) => {
      if (!failures.isSqlMistake(error)) throw error;
      throw new SyncError("CONFIG_SOURCE", `cannot tell ${rows} of ${name}: ${describe(error)}`, {
        hint: `check ${key}: it is a condition on these rows, in SQL of this database`,
        cause: error,
      });
    });
  }
  await checkWhole(session, failures, request);
}

/**
 * The config's SQL stands in parentheses in every statement of a read. SQL that closes these parentheses could add to
 * the statement. Such SQL makes no sense without the parentheses: here it has to be one query or one condition.
 */
async function checkWhole(
  session: Pick<SourceSession, "query" | "prepare">,
  failures: SourceFailures,
  { query, relation, where, removedWhen, readyWhen }: SourceRequest,
): Promise<void> {
  const whole = async (key: string, what: string, ask: () => Promise<unknown>): Promise<void> => {
    try {
      await ask();
    } catch (error) {
      if (!failures.isSqlMistake(error)) throw error;
      throw new SyncError("CONFIG_SOURCE", `${key} is not ${what} by itself: ${describe(error)}`, {
        hint: `check the parentheses of ${key}: each that it closes has to be its own`,
        cause: error,
      });
    }
  };
  const readNone = (condition: string) => () =>
    session.query(`SELECT 1 FROM ${relation} WHERE ${condition}\nLIMIT 0`);
  if (query !== undefined) await whole("source.query", "one query", () => session.prepare(query));
  if (where !== undefined) await whole("source.where", "one condition", readNone(where));
  if (removedWhen !== undefined) await whole("source.removed_when", "one condition", readNone(removedWhen));
  if (readyWhen !== undefined) await whole("source.ready_when", "one condition", readNone(readyWhen));
}

export function sourceError(request: SourceRequest, failures: SourceFailures, error: unknown): SyncError {
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
