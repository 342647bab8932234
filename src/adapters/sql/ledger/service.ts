import type { KnownService, ServiceReads, ServiceWrites } from "../../../ports/ledger/scope.ts";
import type { LedgerReader } from "./ledger-reader.ts";
import { type LedgerScope, setScopeRow } from "./scope.ts";

const NO_SERVICE: KnownService = {
  baseUrl: null,
  teamId: null,
  updates: null,
  isProbed: false,
  answeredAt: null,
};

export const serviceReads = (reader: LedgerReader): ServiceReads => ({
  service: () =>
    reader.read(NO_SERVICE, async ({ connection, tables, scope }) => {
      const [row] = await connection.query<Omit<KnownService, "teamId"> & { readonly teamId: string | null }>(
        `SELECT base_url AS "baseUrl", team_id AS "teamId", updates, updates_probed AS "isProbed",
           answered_at AS "answeredAt"
         FROM ${tables.services} WHERE scope = $1`,
        [scope],
      );
      return row ? { ...row, teamId: row.teamId === null ? null : Number(row.teamId) } : NO_SERVICE;
    }),

  canary: () =>
    reader.read(null, async ({ connection, tables, scope }) => {
      const [row] = await connection.query<{ user_group_id: string; baseUrl: string }>(
        `SELECT user_group_id, base_url AS "baseUrl" FROM ${tables.canaries} WHERE scope = $1`,
        [scope],
      );
      return row ?? null;
    }),
});

export const serviceWrites = (ledger: LedgerScope): ServiceWrites => {
  const { connection, tables, scope } = ledger;
  return {
    async bindService({ baseUrl, teamId, updates, isProbed }) {
      await setScopeRow(ledger, tables.services, {
        base_url: baseUrl,
        team_id: teamId,
        updates,
        updates_probed: isProbed,
      });
      // A service that is known to update has also taken the updates that could not be verified.
      if (updates === true) {
        await connection.query(
          `UPDATE ${tables.groups} SET unverified = NULL WHERE scope = $1 AND unverified = 'updated'`,
          [scope],
        );
      }
    },

    async recordAnswer(at) {
      await connection.query(`UPDATE ${tables.services} SET answered_at = $2 WHERE scope = $1`, [scope, at]);
    },

    async beginCanary({ user_group_id, baseUrl }) {
      await connection.query(
        `INSERT INTO ${tables.canaries} (scope, user_group_id, base_url) VALUES ($1, $2, $3)`,
        [scope, user_group_id, baseUrl],
      );
    },

    async forgetCanary() {
      await connection.query(`DELETE FROM ${tables.canaries} WHERE scope = $1`, [scope]);
    },
  };
};
