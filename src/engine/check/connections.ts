import { asSyncError } from "../../core/failure/sync-error.ts";
import { asFinding, type Finding, ok } from "../../core/report/finding.ts";
import type { SyncConnection } from "../../ports/check.ts";

/**
 * Whether the databases, and the poolers in front of them, give a sync as many connections as it has open at once. Says
 * nothing of a connection that can't be opened alone either: the check of its database tells why.
 */
export async function* connectionFindings(
  connections: readonly SyncConnection[],
  stop: AbortSignal,
): AsyncGenerator<Finding> {
  const open: (() => Promise<void>)[] = [];
  let refused: { readonly connection: SyncConnection; readonly error: unknown } | undefined;
  try {
    for (const connection of connections) {
      try {
        open.push(await connection.open(stop));
      } catch (error) {
        refused = { connection, error };
        break;
      }
    }
  } finally {
    await Promise.all(open.map((close) => close()));
  }
  const all = connections.length;
  if (refused === undefined) {
    yield ok(`${all} connections at once, as many as a sync uses`);
    return;
  }
  const { connection, error } = refused;
  if (open.length === 0 || !(await opensAlone(connection, stop))) return;
  const { code, message } = asSyncError(error);
  yield asFinding(connection.isSpare ? "warning" : "failure", {
    code,
    message: `a sync uses ${all} connections at once and gets ${open.length}; ${connection.for}: ${message}`,
    hint: `let this user have ${all} connections at once: default_pool_size if the pooler is PgBouncer, else max_connections or the user's own limit`,
  });
}

async function opensAlone(connection: SyncConnection, stop: AbortSignal): Promise<boolean> {
  try {
    await (await connection.open(stop))();
    return true;
  } catch {
    return false;
  }
}
