import { randomUUID } from "node:crypto";
import type { HandOver, Lease, OpenRequests, RequestId, Requests } from "../../../ports/ledger/lease.ts";
import { storable } from "../connection/storable.ts";
import type { LedgerReader, LedgerScope } from "./scope.ts";

/** The most requests that one read returns. */
const MOST = 1_000;
/** A ledger without tables has no holder who could be asked. */
const NO_REQUEST: RequestId = "";
const NOTHING_OPEN: OpenRequests = { lease: [], tenants: [] };

export const requests = (reader: LedgerReader): Requests => {
  const { database } = reader;
  const change = (statement: (ledger: LedgerScope) => string, values: readonly unknown[]): Promise<unknown> =>
    reader.read(0, (ledger) => database.change(statement(ledger), [ledger.scope, ...values]));

  const ask = (request: NewRequest, ttlMs: number): Promise<RequestId> =>
    reader.read(NO_REQUEST, async ({ dialect, tables, scope }) => {
      const id = randomUUID();
      await database.change(
        `INSERT INTO ${tables.requests} (scope, id, kind, user_group_id, requested_by, requested_at, expires_at)
         VALUES ($1, $2, $3, $4, $5, ${dialect.now}, ${dialect.later("$6")})`,
        [scope, id, request.kind, request.user_group_id, storable(request.requester), ttlMs],
      );
      return id;
    });

  return {
    requestLease: (requester, ttlMs) => ask({ kind: "lease", user_group_id: null, requester }, ttlMs),
    requestTenant: (user_group_id, requester, ttlMs) =>
      ask({ kind: "tenant", user_group_id, requester }, ttlMs),
    withdrawRequests: async (ids) => {
      await change(
        ({ dialect, tables }) =>
          `DELETE FROM ${tables.requests} WHERE scope = $1 AND ${dialect.isOneOf("id", "$2")}`,
        [ids],
      );
    },
    openRequests: () =>
      reader.read(NOTHING_OPEN, async (ledger) => {
        const found = await allRequests(ledger);
        if (found.some(isExpired)) await database.change(deleteExpired(ledger), [ledger.scope]);
        return byKind(found.filter((request) => !isExpired(request)));
      }),
    offerHandOver: async ({ epoch }: Lease, callMs) => {
      await change(
        ({ tables }) =>
          `UPDATE ${tables.leases} SET hand_over_epoch = epoch, call_ms = $3 WHERE scope = $1 AND epoch = $2`,
        [epoch, callMs],
      );
    },
    handOver: () => reader.read(null, handOver),
  };
};

interface NewRequest {
  readonly kind: "lease" | "tenant";
  readonly user_group_id: string | null;
  readonly requester: string;
}

/** MySQL returns 1 or "1" for true. */
type RequestColumns = NewRequest & { readonly id: RequestId; readonly expired: unknown };

const isExpired = ({ expired }: RequestColumns): boolean => Number(expired) === 1;

const allRequests = ({ dialect, connection, tables, scope }: LedgerScope): Promise<RequestColumns[]> =>
  connection.query<RequestColumns>(
    `SELECT id, kind, user_group_id, requested_by AS requester, expires_at <= ${dialect.now} AS expired
     FROM ${tables.requests}
     WHERE scope = $1
     ORDER BY kind, requested_at, id LIMIT ${MOST}`,
    [scope],
  );

/** A request for a tenant names it. */
const byKind = (found: readonly RequestColumns[]): OpenRequests => ({
  lease: found.filter(({ kind }) => kind === "lease").map(({ id, requester }) => ({ id, requester })),
  tenants: found.flatMap(({ id, requester, user_group_id }) =>
    user_group_id === null ? [] : [{ id, requester, user_group_id }],
  ),
});

const deleteExpired = ({ dialect, tables }: LedgerScope): string =>
  `DELETE FROM ${tables.requests} WHERE scope = $1 AND expires_at <= ${dialect.now}`;

async function handOver({ dialect, connection, tables, scope }: LedgerScope): Promise<HandOver | null> {
  const [row] = await connection.query<{ epoch: string; callMs: string }>(
    `SELECT epoch, call_ms AS "callMs" FROM ${tables.leases}
     WHERE scope = $1 AND hand_over_epoch = epoch AND expires_at > ${dialect.now}`,
    [scope],
  );
  return row ? { epoch: row.epoch, callMs: Number(row.callMs) } : null;
}
