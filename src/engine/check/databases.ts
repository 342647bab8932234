import { doesUpdate } from "../../core/apply/update-evidence.ts";
import { CHANGES_NOT_INDEXED, LOOKUPS_NOT_INDEXED } from "../../core/changes/notice.ts";
import { remedyOf } from "../../core/failure/error-codes.ts";
import { asSyncError, SyncError } from "../../core/failure/sync-error.ts";
import { digestSeed } from "../../core/group/desired-group.ts";
import { columnsOf, type GroupRules } from "../../core/group/group-rules.ts";
import type { UpdatePolicy } from "../../core/record/decide.ts";
import { asFinding, type Finding, ok, warning } from "../../core/report/finding.ts";
import type { ConnectionPrivacy } from "../../core/tls/database-tls.ts";
import type { ChangeChannel, ChangeFeed } from "../../ports/change-feed.ts";
import type { LedgerView } from "../../ports/ledger/ledger.ts";
import type { KnownService } from "../../ports/ledger/scope.ts";
import type { TenantSource } from "../../ports/tenant-source.ts";
import type { TokenStore } from "../../ports/token-store.ts";
import { roleWarnings } from "../plan/read-differences.ts";
import { ServiceIdentity } from "../service/service-identity.ts";
import { destinationFailures, type SyncConditions } from "./sync-conditions.ts";

/** A database as `check` speaks of it. */
export interface CheckedDatabase {
  /** Host, port and database. */
  readonly title: string;
  readonly privacy: ConnectionPrivacy;
}

const TLS_HINT =
  "write sslmode=verify-full in the url, or ssl-mode=VERIFY_IDENTITY for MySQL and MariaDB; sslrootcert or ssl-ca names a CA of your own";

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
        TLS_HINT,
      );
    case "clear":
      return warning(
        `connected to ${title} without TLS: everything, the password included, is sent in clear`,
        TLS_HINT,
      );
    default:
      return privacy satisfies never;
  }
}

interface SourceSettings {
  readonly rules: GroupRules;
  readonly database: CheckedDatabase;
}

/** Connection, rights, columns and SQL of the source, what its role can do besides, and the id's index. Reads no row. */
export async function* sourceFindings(
  source: Pick<TenantSource, "open">,
  { rules, database }: SourceSettings,
  stop: AbortSignal,
): AsyncGenerator<Finding> {
  const snapshot = await source.open(columnsOf(rules), digestSeed(rules), stop);
  try {
    yield connectionFinding(database);
    for (const warned of roleWarnings(await snapshot.role())) yield asFinding("warning", warned);
    yield (await snapshot.isIndexed())
      ? ok(`an index finds a tenant by column ${rules.id} of ${snapshot.table ?? "source.query"}`)
      : asFinding("warning", LOOKUPS_NOT_INDEXED);
  } finally {
    await snapshot.close();
  }
}

/** The change column of `source.changes`: whether it is there, has values, and has an index. */
export async function* columnFindings(feed: ChangeFeed, stop: AbortSignal): AsyncGenerator<Finding> {
  const reader = await feed.open(stop, null);
  try {
    const newest = await reader.newest();
    if (newest === null) {
      yield warning(
        "source.changes.column has no value in any row, so nobody can tell whether it has an index",
        "see that every insert and update sets it; until then only full syncs find what changes",
      );
      return;
    }
    yield ok(`source.changes.column is of type ${reader.type}, and its newest value is ${newest.value}`);
    const hint = await reader.missingIndex({ value: newest.before, isIncluded: true });
    yield hint === null
      ? ok("an index finds the newest rows of source.changes.column")
      : asFinding("warning", { ...CHANGES_NOT_INDEXED, hint });
  } finally {
    await reader.close();
  }
}

/** The channel of `source.changes`: whether notifications arrive. Notifies itself alone. */
export async function* channelFindings(channel: ChangeChannel, stop: AbortSignal): AsyncGenerator<Finding> {
  await (await channel.open(() => {}, stop)).close();
  yield ok("notifications arrive on source.changes.channel");
}

interface LedgerSettings {
  readonly database: CheckedDatabase;
  readonly baseUrl: string;
  readonly update: UpdatePolicy;
}

/** Connection, rights and version of the ledger, who holds the lease, and the service that its groups live at. */
export async function* ledgerFindings(
  ledger: Pick<LedgerView, "inspect" | "tables" | "scope">,
  { database, baseUrl, update }: LedgerSettings,
): AsyncGenerator<Finding> {
  await ledger.inspect();
  yield connectionFinding(database);
  const tables = (await ledger.tables()).place ?? "the ledger's tables";
  const { ledgerId, lease, service } = await ledger.scope();
  yield ok(
    ledgerId !== null
      ? `${tables}: this user may write there`
      : `${tables}: a sync creates the tables, as this user may`,
  );
  yield ok(
    lease === null
      ? "nobody holds the lease"
      : `${lease.holder} holds the lease until ${lease.expiresAt.toISOString()}`,
  );
  if (doesUpdate(service.evidence) === false && update === "upsert")
    yield warning(
      "a GET doesn't change an existing group at this service: a changed group fails",
      remedyOf("NOT_UPDATED"),
    );
  new ServiceIdentity(service, baseUrl);
}

interface TokenPorts {
  readonly ledger: Pick<LedgerView, "inspect" | "scope">;
  readonly tokens: Pick<TokenStore, "inspect" | "destinations">;
}

/** Whose tokens are in the stores, and whether this user may use the stores. */
export async function* tokenFindings(
  ports: TokenPorts,
  settings: Pick<SyncConditions, "name" | "baseUrl">,
): AsyncGenerator<Finding> {
  const { ledger, tokens } = ports;
  const service = await knownService(ledger);
  if (service === null || (service.baseUrl ?? settings.baseUrl) !== settings.baseUrl) {
    await tokens.inspect();
    yield warning(
      "nobody can tell whether the tokens belong to another config",
      "do what the ledger's findings say, and check again",
    );
    return;
  }
  const failures = await destinationFailures({ ...ports, ...settings, service });
  for (const error of failures) yield asFinding("failure", error);
  if (failures.length > 0) return;
  await tokens.inspect();
  for (const { title } of tokens.destinations)
    yield ok(`${title} can be used, and belongs to no other config`);
}

/** Null if the ledger can't be read. The check of the ledger says why. */
const knownService = (ledger: Pick<LedgerView, "scope">): Promise<KnownService | null> =>
  ledger.scope().then(
    ({ service }) => service,
    (error: unknown) => {
      if (error instanceof SyncError && error.code.startsWith("LEDGER_")) return null;
      throw error;
    },
  );

/** A connection that a sync, or the daemon, has open at the same time as others. */
export interface SyncConnection {
  /** What it is needed for, in words. */
  readonly for: string;
  /** Connects, and begins a transaction if a sync does. Resolves to what ends both. Rejects as the sync would. */
  open(stop: AbortSignal): Promise<() => Promise<unknown>>;
}

/**
 * Whether the databases, and the poolers in front of them, give as many connections as are open at once. Says nothing of a
 * connection that can't be opened alone either: the check of its database tells why.
 */
export async function* connectionFindings(
  connections: readonly SyncConnection[],
  stop: AbortSignal,
): AsyncGenerator<Finding> {
  const open: (() => Promise<unknown>)[] = [];
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
    yield ok(`${all} connections at once, as many as groupsync uses`);
    return;
  }
  const { connection, error } = refused;
  if (open.length === 0 || !(await opensAlone(connection, stop))) return;
  const { code, message } = asSyncError(error);
  yield asFinding("failure", {
    code,
    message: `groupsync uses ${all} connections at once and gets ${open.length}; ${connection.for}: ${message}`,
    hint: `let the users of source, ledger and tokens have ${all} connections at once: default_pool_size if the pooler is PgBouncer, else max_connections or the limit of a user`,
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
