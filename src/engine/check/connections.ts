import { asSyncError } from "../../core/failure/sync-error.ts";
import { asFinding, type Finding, ok, warning } from "../../core/report/finding.ts";
import type { ConnectionPrivacy } from "../../core/tls/database-tls.ts";

/** A database as `check` speaks of it. */
export interface CheckedDatabase {
  /** Host, port and database. */
  readonly title: string;
  readonly privacy: ConnectionPrivacy;
}

const HINT = "see docs/security.md#tls";

/** The finding for a connection that has worked. */
export function connectionFinding({ title, privacy }: CheckedDatabase): Finding {
  switch (privacy) {
    case "verified":
      return ok(`connected to ${title} by TLS; the server's certificate is the right one`);
    case "local":
      return ok(`connected to ${title}, on this machine`);
    case "unverified":
      return warning(
        `connected to ${title} by TLS, but the url has no certificate verified: anybody in between could pose as the server`,
        HINT,
      );
    case "clear":
      return warning(
        `connected to ${title} without TLS: everything, the password included, is sent in clear`,
        HINT,
      );
    default:
      return privacy satisfies never;
  }
}

/** A connection that a sync has open at the same time as others. */
export interface SyncConnection {
  /** What the sync needs it for, in words. */
  readonly for: string;
  /** Without it, only a read that outlasts the lease fails. */
  readonly isSpare?: boolean;
  /** Connects and begins a transaction, as a sync does. Resolves to what ends both. Rejects as the sync would. */
  open(stop: AbortSignal): Promise<() => Promise<void>>;
}

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
