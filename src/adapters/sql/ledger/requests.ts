import { randomUUID } from "node:crypto";
import type { HandOver, RequestId, Requests } from "../../../ports/ledger/requests.ts";
import { storable } from "../connection/storable.ts";
import type { LedgerReader } from "./ledger-reader.ts";
import type { LedgerScope } from "./scope.ts";

/** The most requests that one read returns. */
const MOST = 1_000;

export const requests = (reader: LedgerReader): Requests => {
  const { database } = reader;
  const change = (statement: (ledger: LedgerScope) => string, values: readonly unknown[]): Promise<number> =>
    reader.read(0, (ledger) => database.change(statement(ledger), [ledger.scope, ...values]));

  const ask = async (user_group_id: string | null, requester: string, ttlMs: number): Promise<RequestId> => {
    const id = randomUUID();
    const made = await change(
      ({ dialect, tables }) =>
        dialect.upsert({
          into: tables.requests,
          columns: ["scope", "id", "user_group_id", "requested_by", "requested_at", "expires_at"],
          from: `VALUES ($1, $2, $3, $4, ${dialect.now}, ${dialect.later("$5")})`,
          key: ["scope", "user_group_id"],
          // A request that waits for the tenant takes the new id, and so outlives the holder that is just withdrawing it:
          // that one may have read the tenant's row before what this request is about.
          set: ["id", "requested_by", "expires_at"],
        }),
      [id, user_group_id, storable(requester), ttlMs],
    );
    // A ledger without tables has no holder who could be asked.
    return made > 0 ? id : "";
  };

  return {
    requestLease: (requester, ttlMs) => ask(null, requester, ttlMs),
    requestTenant: ask,

    async withdrawRequests(ids) {
      await change(
        ({ dialect, tables }) =>
          `DELETE FROM ${tables.requests} WHERE scope = $1 AND ${dialect.isOneOf("id", "$2")}`,
        [ids],
      );
    },

    openRequests: () =>
      reader.read({ lease: [], tenants: [] }, async ({ dialect, connection, tables, scope }) => {
        const found = await connection.query<RequestColumns>(
          `SELECT id, user_group_id, requested_by AS requester, expires_at <= ${dialect.now} AS expired
           FROM ${tables.requests} WHERE scope = $1
           ORDER BY user_group_id IS NOT NULL, requested_at, id LIMIT ${MOST}`,
          [scope],
        );
        const isExpired = ({ expired }: RequestColumns): boolean => Number(expired) === 1;
        if (found.some(isExpired)) {
          await database.change(
            `DELETE FROM ${tables.requests} WHERE scope = $1 AND expires_at <= ${dialect.now}`,
            [scope],
          );
        }
        const open = found.filter((request) => !isExpired(request));
        return {
          lease: open.flatMap(({ id, requester, user_group_id }) =>
            user_group_id === null ? [{ id, requester }] : [],
          ),
          tenants: open.flatMap(({ id, requester, user_group_id }) =>
            user_group_id === null ? [] : [{ id, requester, user_group_id }],
          ),
        };
      }),

    async offerHandOver({ epoch }, callMs) {
      await change(
        ({ tables }) =>
          `UPDATE ${tables.leases} SET hand_over_epoch = epoch, call_ms = $3 WHERE scope = $1 AND epoch = $2`,
        [epoch, callMs],
      );
    },

    handOver: () =>
      reader.read<HandOver | null>(null, async ({ dialect, connection, tables, scope }) => {
        const [row] = await connection.query<{ epoch: string; callMs: string }>(
          `SELECT epoch, call_ms AS "callMs" FROM ${tables.leases}
           WHERE scope = $1 AND hand_over_epoch = epoch AND expires_at > ${dialect.now}`,
          [scope],
        );
        return row ? { epoch: row.epoch, callMs: Number(row.callMs) } : null;
      }),
  };
};

interface RequestColumns {
  readonly id: RequestId;
  /** Null if the lease is asked for. */
  readonly user_group_id: string | null;
  readonly requester: string;
  /** MySQL returns 1 or "1" for true. */
  readonly expired: unknown;
}
