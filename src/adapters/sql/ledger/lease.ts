import { describe, type SyncError } from "../../../core/failure/sync-error.ts";
import { tokenFingerprint } from "../../../core/group/group.ts";
import type { LeaseState, RecentWrites } from "../../../core/record/recent-writes.ts";
import type { Lease, LeaseHolder, Leases } from "../../../ports/ledger/lease.ts";
import type { StoredToken } from "../../../ports/token-store.ts";
import type { Queryable } from "../connection/connections.ts";
import { databaseError } from "../connection/failures.ts";
import { LEASE_CALL } from "../connection/wait-limits.ts";
import type { LedgerReader } from "./ledger-reader.ts";

/**
 * A query that finds a row if the lease is held and the ledger has at least so many writes, and locks the row: until the
 * transaction ends, a new holder waits. A renewal of the lease does not wait.
 */
export async function ifHeld(reader: LedgerReader, lease: Lease, writes: number): Promise<string> {
  const { literal, same, selectFenced } = reader.database.dialect;
  const { leases } = await reader.tables();
  // A subquery, because MySQL would lock the row to read the number from it, and a renewal would wait.
  const found = `SELECT w.writes FROM ${leases} AS w WHERE ${same("w.scope", literal(reader.scope))}`;
  return selectFenced(leases, `${isHeld(reader, lease)} AND (${found}) >= ${writes}`);
}

/** What the lease's row tells of the writes; undefined if there is no row. */
export async function leaseState(
  connection: Queryable,
  leases: string,
  scope: string,
): Promise<LeaseState | undefined> {
  const [row] = await connection.query<StateColumns>(
    `SELECT ${STATE_COLUMNS} FROM ${leases} WHERE scope = $1`,
    [scope],
  );
  return row && stateOf(row);
}

/** With the epoch, those of a `LeaseHolder`. */
export const HOLDER_COLUMNS = `holder, acquired_at AS "acquiredAt", expires_at AS "expiresAt", hand_over_ms AS "handOverMs"`;

const STATE_COLUMNS = `epoch, writes, writes_before AS "writesBefore", server`;

interface StateColumns extends Pick<LeaseState, "epoch" | "server"> {
  readonly writes: string;
  readonly writesBefore: string;
}

const stateOf = ({ epoch, writes, writesBefore, server }: StateColumns): LeaseState => ({
  epoch,
  writes: Number(writes),
  writesBefore: Number(writesBefore),
  server,
});

/** Like `ifHeld`, but the query also finds no row if another group of the scope has the token. */
export async function ifOfNoOther(
  reader: LedgerReader,
  { user_group_id, token }: StoredToken,
  lease: Lease,
): Promise<string> {
  const { literal, same, selectFenced } = reader.database.dialect;
  const { leases, groups, formerTokens } = await reader.tables();
  const isOfAnother = [groups, formerTokens].map(
    (table) => `EXISTS (SELECT 1 FROM ${table} WHERE ${same("scope", literal(reader.scope))}
      AND ${same("token_fingerprint", literal(tokenFingerprint(token)))}
      AND NOT (${same("user_group_id", literal(user_group_id))}))`,
  );
  return selectFenced(leases, [isHeld(reader, lease), ...isOfAnother.map((is) => `NOT ${is}`)].join(" AND "));
}

function isHeld({ database, scope }: LedgerReader, { epoch }: Lease): string {
  const { literal, same } = database.dialect;
  return `${same("scope", literal(scope))} AND ${same("epoch", literal(epoch))}`;
}

/** The lease is a row whose epoch grows with every holder, see `nextEpoch`. */
export function leases(reader: LedgerReader, recent: RecentWrites): Leases {
  const { database, scope } = reader;
  const { dialect } = database;

  const selectLease = async (): Promise<string> => `
    SELECT ${STATE_COLUMNS}, ${HOLDER_COLUMNS}, expires_at > ${dialect.now} AS held, ${dialect.now} AS "readAt"
    FROM ${(await reader.tables()).leases} WHERE scope = $1`;

  const currentLease = async (connection: Queryable, text: string): Promise<CurrentLease | undefined> => {
    const [row] = await connection.query<LeaseColumns>(text, [scope]);
    return row && { ...row, held: Number(row.held) === 1 };
  };

  /** Resolves to whether the lease is still the latest. `more` are the values from $3 on. */
  const change = async (
    { epoch }: Lease,
    set: string,
    more: readonly unknown[] = [],
    condition = "TRUE",
  ): Promise<boolean> => {
    const { leases } = await reader.tables();
    const text = `UPDATE ${leases} SET ${set} WHERE scope = $1 AND epoch = $2 AND ${condition}`;
    return (await database.change(text, [scope, epoch, ...more])) > 0;
  };

  /** Whether the error says that another session keeps the lease's row locked, or changes it again and again. */
  const isLocked = (error: unknown): boolean => dialect.isLockTimeout(error) || dialect.isDeadlock(error);
  const cannot = (what: string, error: unknown): SyncError =>
    databaseError(dialect, "LEDGER_UNAVAILABLE", `cannot ${what} the lease`, error);

  return {
    async acquireLease(holder, ttlMs, { handOverMs = null, dead } = {}) {
      const isAnothers = ({ held, epoch, expiresAt }: CurrentLease): boolean =>
        held && !(epoch === dead?.epoch && expiresAt.getTime() === dead.expiresAt.getTime());
      // Read without a lock first: the holder may stand still in a transaction that has the row locked.
      const before = await selectLease()
        .then((text) => currentLease(database, text))
        .catch((error: unknown) => {
          throw cannot("read", error);
        });
      if (before && isAnothers(before)) return { kind: "held", by: before };
      /** With the row locked: two processes that want the lease take turns. */
      const take = async (connection: Queryable) => {
        const { leases } = await reader.tables();
        if (!before) {
          await connection.query(
            dialect.upsert({
              into: leases,
              columns: ["scope", "epoch", "holder", "acquired_at", "expires_at"],
              from: `VALUES ($1, 0, '${NOBODY}', '1970-01-02', '1970-01-02')`,
              key: ["scope"],
            }),
            [scope],
          );
        }
        const current = await currentLease(connection, `${await selectLease()} FOR UPDATE`);
        if (!current) throw new Error("the lease's row was deleted at the same moment");
        if (isAnothers(current)) return { current };
        const epoch = nextEpoch(current);
        await connection.query(
          `UPDATE ${leases}
           SET epoch = $4, holder = $2, acquired_at = ${dialect.now}, expires_at = ${dialect.later("$3")},
             hand_over_ms = $5, writes_before = writes
           WHERE scope = $1`,
          [scope, holder, ttlMs, epoch, handOverMs],
        );
        return { current, epoch };
      };
      try {
        const server = await dialect.serverIdentity(database);
        const { current, epoch } = await database.transaction(dialect.begin.lease, take, LEASE_CALL);
        if (epoch === undefined) return { kind: "held", by: current };
        recent.acquired(epoch, stateOf(current), server);
        return { kind: "acquired", lease: { epoch }, abandonedMs: abandonedMs(current) };
      } catch (error) {
        if (!isLocked(error)) throw cannot("take", error);
        if (!before || before.holder === NOBODY) return { kind: "locked", error: cannot("take", error) };
        return { kind: "held", by: before, locked: describe(error) };
      }
    },

    async renewLease(lease, ttlMs) {
      const renewed = `expires_at = ${dialect.later("$3")}`;
      if (await change(lease, renewed, [ttlMs, recent.writes], "writes >= $4")) return undefined;
      return recent.whyLost(await leaseState(database, (await reader.tables()).leases, scope));
    },

    async releaseLease(lease) {
      if (await change(lease, `expires_at = ${dialect.now}, holder = '${NOBODY}'`)) recent.released();
    },
  };
}

interface CurrentLease extends LeaseHolder, Pick<StateColumns, "writes" | "writesBefore" | "server"> {
  readonly held: boolean;
  /** When the row was read, by the database's clock. */
  readonly readAt: Date;
}

/** MySQL returns 1 or "1" for true. */
type LeaseColumns = Omit<CurrentLease, "held"> & { readonly held: unknown };

/** The holder of a lease that was given back, or that nobody has held yet. */
const NOBODY = "";

/**
 * Greater than every epoch before, by the database's clock: a ledger that was restored from a backup has the epoch of that day,
 * and must not give out one that an instance from before the restore still holds.
 */
function nextEpoch({ epoch, readAt }: CurrentLease): string {
  const [next, time] = [BigInt(epoch) + 1n, BigInt(readAt.getTime())];
  return String(next > time ? next : time);
}

const abandonedMs = (lease: CurrentLease): number | null =>
  lease.holder === NOBODY ? null : Math.max(0, lease.readAt.getTime() - lease.expiresAt.getTime());
