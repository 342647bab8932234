import { describe, SyncError } from "../../../core/failure/sync-error.ts";
import type { SourceFailures, SourceSession } from "./open-reader.ts";
import type { SourceRequest } from "./source-request.ts";
import { type TenantQuery, whereAll } from "./tenant-query.ts";

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
