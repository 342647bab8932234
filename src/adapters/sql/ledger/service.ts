import type { KnownService, ServiceReads, ServiceWrites } from "../../../ports/ledger/service.ts";
import type { LedgerReader, LedgerScope } from "./scope.ts";

const NO_SERVICE: KnownService = { baseUrl: null, teamId: null, updates: null };

export const serviceReads = (reader: LedgerReader): ServiceReads => ({
  service: () => reader.read(NO_SERVICE, knownService),
});

export const serviceWrites = (ledger: LedgerScope): ServiceWrites => ({
  bindService: (service) => bindService(ledger, service),
});

async function knownService({ connection, tables, scope }: LedgerScope): Promise<KnownService> {
  const [row] = await connection.query<{
    base_url: string;
    team_id: string | null;
    updates: boolean | null;
  }>(`SELECT base_url, team_id, updates FROM ${tables.services} WHERE scope = $1`, [scope]);
  if (!row) return NO_SERVICE;
  const teamId = row.team_id === null ? null : Number(row.team_id);
  return { baseUrl: row.base_url, teamId, updates: row.updates };
}

async function bindService(
  { dialect, connection, tables, scope }: LedgerScope,
  { baseUrl, teamId, updates }: KnownService,
): Promise<void> {
  await connection.query(
    dialect.upsert({
      into: tables.services,
      columns: ["scope", "base_url", "team_id", "updates"],
      from: "VALUES ($1, $2, $3, $4)",
      key: ["scope"],
      set: (is) => ({ base_url: is("base_url"), team_id: is("team_id"), updates: is("updates") }),
    }),
    [scope, baseUrl, teamId, updates],
  );
  // A service that is known to update has also taken the updates that could not be verified.
  if (updates === true) {
    await connection.query(
      `UPDATE ${tables.groups} SET unverified = NULL WHERE scope = $1 AND unverified IS NOT NULL`,
      [scope],
    );
  }
}
