import { randomUUID } from "node:crypto";
import type { LedgerRequest, Requests } from "../../../ports/ledger/requests.ts";
import type { LedgerReader } from "./ledger-reader.ts";
import { type LedgerScope, storable } from "./scope.ts";

/** The most requests that one read returns. */
const MOST = 1_000;

export const requests = (reader: LedgerReader): Requests => {
  const { database } = reader;
  const change = (statement: (ledger: LedgerScope) => string, values: readonly unknown[]): Promise<number> =>
    reader.read(0, (ledger) => database.change(statement(ledger), [ledger.scope, ...values]));

  return {
    async putRequest(user_group_id, requester, ttlMs) {
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
    },

    async dropRequests(ids) {
      await change(
        ({ dialect, tables }) =>
          `DELETE FROM ${tables.requests} WHERE scope = $1 AND ${dialect.isOneOf("id", "$2")}`,
        [ids],
      );
    },

    requests: () =>
      reader.read([], async ({ dialect, connection, tables, scope }) => {
        const found = await connection.query<LedgerRequest & { readonly expired: unknown }>(
          `SELECT id, user_group_id, requested_by AS requester, expires_at <= ${dialect.now} AS expired
           FROM ${tables.requests} WHERE scope = $1
           ORDER BY user_group_id IS NOT NULL, requested_at, id LIMIT ${MOST}`,
          [scope],
        );
        // MySQL returns 1 or "1" for true.
        const open = found.filter(({ expired }) => Number(expired) !== 1);
        if (open.length < found.length)
          await database.change(
            `DELETE FROM ${tables.requests} WHERE scope = $1 AND expires_at <= ${dialect.now}`,
            [scope],
          );
        return open.map(({ id, requester, user_group_id }) => ({ id, requester, user_group_id }));
      }),
  };
};
