import type {
  BoundService,
  Canary,
  KnownService,
  ServiceReads,
  ServiceWrites,
} from "../../../ports/ledger/scope.ts";
import type { LedgerReader, LedgerScope } from "./scope.ts";

const NO_SERVICE: KnownService = {
  baseUrl: null,
  teamId: null,
  updates: null,
  isProbed: false,
  answeredAt: null,
};

export const serviceReads = (reader: LedgerReader): ServiceReads => ({
  service: () => reader.read(NO_SERVICE, knownService),
  canary: () => reader.read(null, canary),
});

export const serviceWrites = (ledger: LedgerScope): ServiceWrites => ({
  bindService: (service) => bindService(ledger, service),
  recordAnswer: (at) => recordAnswer(ledger, at),
  beginCanary: (canary, now) => beginCanary(ledger, canary, now),
  forgetCanary: () => forgetCanary(ledger),
});

async function knownService({ connection, tables, scope }: LedgerScope): Promise<KnownService> {
  const [row] = await connection.query<{
    base_url: string;
    team_id: string | null;
    updates: boolean | null;
    updates_probed: boolean;
    answered_at: Date | null;
  }>(
    `SELECT base_url, team_id, updates, updates_probed, answered_at FROM ${tables.services} WHERE scope = $1`,
    [scope],
  );
  if (!row) return NO_SERVICE;
  const teamId = row.team_id === null ? null : Number(row.team_id);
  const { base_url: baseUrl, updates, updates_probed: isProbed, answered_at: answeredAt } = row;
  return { baseUrl, teamId, updates, isProbed, answeredAt };
}

async function bindService(
  { dialect, connection, tables, scope }: LedgerScope,
  { baseUrl, teamId, updates, isProbed }: BoundService,
): Promise<void> {
  await connection.query(
    dialect.upsert({
      into: tables.services,
      columns: ["scope", "base_url", "team_id", "updates", "updates_probed"],
      from: "VALUES ($1, $2, $3, $4, $5)",
      key: ["scope"],
      set: (is) => ({
        ...{ base_url: is("base_url"), team_id: is("team_id") },
        ...{ updates: is("updates"), updates_probed: is("updates_probed") },
      }),
    }),
    [scope, baseUrl, teamId, updates, isProbed],
  );
  // A service that is known to update has also taken the updates that could not be verified.
  if (updates === true) {
    await connection.query(
      `UPDATE ${tables.groups} SET unverified = NULL WHERE scope = $1 AND unverified = 'updated'`,
      [scope],
    );
  }
}

async function recordAnswer({ connection, tables, scope }: LedgerScope, at: Date): Promise<void> {
  await connection.query(`UPDATE ${tables.services} SET answered_at = $2 WHERE scope = $1`, [scope, at]);
}

async function canary({ connection, tables, scope }: LedgerScope): Promise<Canary | null> {
  const [row] = await connection.query<{ user_group_id: string; base_url: string }>(
    `SELECT user_group_id, base_url FROM ${tables.canaries} WHERE scope = $1`,
    [scope],
  );
  return row ? { user_group_id: row.user_group_id, baseUrl: row.base_url } : null;
}

async function beginCanary(
  { connection, tables, scope }: LedgerScope,
  { user_group_id, baseUrl }: Canary,
  now: Date,
): Promise<void> {
  await connection.query(
    `INSERT INTO ${tables.canaries} (scope, user_group_id, base_url, begun_at) VALUES ($1, $2, $3, $4)`,
    [scope, user_group_id, baseUrl, now],
  );
}

async function forgetCanary({ connection, tables, scope }: LedgerScope): Promise<void> {
  await connection.query(`DELETE FROM ${tables.canaries} WHERE scope = $1`, [scope]);
}
