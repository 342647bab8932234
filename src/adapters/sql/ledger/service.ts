import { NO_EVIDENCE, type UpdateEvidence } from "../../../core/apply/update-evidence.ts";
import type { KnownService, ServiceReads, ServiceWrites } from "../../../ports/ledger/scope.ts";
import type { LedgerReader } from "./ledger-reader.ts";
import { type LedgerScope, setScopeRow } from "./scope.ts";

const NO_SERVICE: KnownService = {
  baseUrl: null,
  teamId: null,
  evidence: NO_EVIDENCE,
  answeredAt: null,
};

interface ServiceRow extends Pick<KnownService, "answeredAt"> {
  readonly baseUrl: string;
  readonly teamId: string | null;
  readonly evidence: string;
}

export const serviceReads = (reader: LedgerReader): ServiceReads => ({
  service: () =>
    reader.read(NO_SERVICE, async ({ connection, tables, scope }) => {
      const [row] = await connection.query<ServiceRow>(
        `SELECT base_url AS "baseUrl", team_id AS "teamId", update_evidence AS "evidence", answered_at AS "answeredAt"
         FROM ${tables.services} WHERE scope = $1`,
        [scope],
      );
      if (!row) return NO_SERVICE;
      const teamId = row.teamId === null ? null : Number(row.teamId);
      return { ...row, teamId, evidence: JSON.parse(row.evidence) as UpdateEvidence };
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
    async bindService({ baseUrl, teamId, evidence }) {
      await setScopeRow(ledger, tables.services, {
        base_url: baseUrl,
        team_id: teamId,
        update_evidence: JSON.stringify(evidence),
      });
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
