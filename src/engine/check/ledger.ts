import { SyncError } from "../../core/failure/sync-error.ts";
import type { UpdatePolicy } from "../../core/plan/planned-action.ts";
import { clockDifference } from "../../core/plan/read-history.ts";
import { asFinding, type Finding, ok, warning } from "../../core/report/finding.ts";
import type { LedgerView } from "../../ports/ledger/ledger.ts";
import { adviceOnKeptGroups, type HostTime, PROBE_KEPT_GROUPS, readHistoryNow } from "../plan/make-plan.ts";
import { type CheckedDatabase, connectionFinding } from "./connection.ts";
import { brokenConditions, sameService } from "./sync-conditions.ts";

interface Ports {
  readonly ledger: Pick<LedgerView, "inspect" | "id" | "ownTables" | "service" | "status" | "readHistory">;
  readonly clock: HostTime;
}

interface Settings {
  readonly database: CheckedDatabase;
  readonly baseUrl: string;
  readonly update: UpdatePolicy;
}

/** Connection, rights and version of the ledger, its clock, the service that its groups live at, and who holds the lease. */
export async function* ledgerFindings(
  { ledger, clock }: Ports,
  { database, baseUrl, update }: Settings,
): AsyncGenerator<Finding> {
  await ledger.inspect();
  yield connectionFinding(database);
  const tables = (await ledger.ownTables()) ?? "the ledger's tables";
  try {
    const isThere = (await ledger.id()) !== null;
    yield ok(
      isThere
        ? `${tables}: this user may write there`
        : `${tables}: a sync creates the tables, as this user may`,
    );
  } catch (error) {
    if (!(error instanceof SyncError) || error.code !== "LEDGER_OUTDATED") throw error;
    yield asFinding("warning", error);
    return;
  }
  const { hostLeadMs } = await readHistoryNow(ledger, clock);
  if (hostLeadMs !== null) yield asFinding("warning", clockDifference(hostLeadMs));
  const service = await ledger.service();
  for (const error of await brokenConditions([sameService({ service, baseUrl })]))
    yield asFinding("failure", error);
  if (service.updates === false && update === "upsert")
    yield warning(
      "a GET doesn't change an existing group at this service: a changed group fails",
      adviceOnKeptGroups(service) ?? PROBE_KEPT_GROUPS,
    );
  const { lease } = await ledger.status();
  yield ok(
    lease === null
      ? "nobody holds the lease"
      : `${lease.holder} holds the lease until ${lease.expiresAt.toISOString()}`,
  );
}
