import { describeHeldRemovals } from "../../core/deletion/removals.ts";
import { describeHeldRefresh } from "../../core/drift/refresh.ts";
import { SyncError } from "../../core/failure/sync-error.ts";
import { type DeletionPolicy, removalsAllowed } from "../../core/plan/deletion-policy.ts";
import type { UpdatePolicy } from "../../core/plan/planned-action.ts";
import { asFinding, type Finding, ok, warning } from "../../core/report/finding.ts";
import { quantity } from "../../core/text/quantity.ts";
import type { LedgerView } from "../../ports/ledger/ledger.ts";
import type { KnownService } from "../../ports/ledger/scope.ts";
import type { TokenStore } from "../../ports/token-store.ts";
import { adviceOnKeptGroups, PROBE_KEPT_GROUPS } from "../plan/make-plan.ts";
import { missingCount } from "../plan/plan.ts";
import { type CheckedDatabase, connectionFinding } from "./connections.ts";
import {
  destinationFailures,
  type ForecastSetup,
  forecastNumbers,
  forecastSync,
  type SyncForecast,
  serviceFailures,
} from "./sync-forecast.ts";

interface LedgerSettings {
  readonly database: CheckedDatabase;
  readonly baseUrl: string;
  readonly update: UpdatePolicy;
}

/** Connection, rights and version of the ledger, the service that its groups live at, and who holds the lease. */
export async function* ledgerFindings(
  ledger: Pick<LedgerView, "inspect" | "id" | "ownTables" | "service" | "status">,
  { database, baseUrl, update }: LedgerSettings,
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
    yield outdated(error);
    return;
  }
  const service = await ledger.service();
  for (const error of await serviceFailures({ service, baseUrl })) yield asFinding("failure", error);
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

/** A sync migrates an outdated ledger, so that is no failure. Throws any other error. */
function outdated(error: unknown): Finding {
  if (!(error instanceof SyncError) || error.code !== "LEDGER_OUTDATED") throw error;
  return asFinding("warning", error);
}

interface TokenPorts {
  readonly ledger: Pick<LedgerView, "inspect" | "id" | "service" | "tokenTables">;
  readonly tokens: Pick<TokenStore, "inspect" | "destinations" | "rehearse">;
}

interface TokenSettings {
  readonly name: string;
  readonly baseUrl: string;
  /** Whether a secret may be written to a store that remembers removed secrets. */
  readonly canary: boolean;
}

/** Whose tokens are in the stores, and whether the stores take tokens and let them go. */
export async function* tokenFindings(
  ports: TokenPorts,
  { canary, ...settings }: TokenSettings,
): AsyncGenerator<Finding> {
  const { ledger, tokens } = ports;
  const service = await knownService(ledger);
  if (service === null || (service.baseUrl ?? settings.baseUrl) !== settings.baseUrl) {
    await tokens.inspect();
    yield warning(
      "nobody can tell whether the tokens belong to another config, so no write was tried",
      "do what the ledger's findings say, and check again",
    );
    return;
  }
  const failures = await destinationFailures({ ...ports, ...settings, service });
  for (const error of failures) yield asFinding("failure", error);
  // Nothing is written where another config's tokens are, not even for a moment.
  if (failures.length === 0) yield* await tokens.rehearse({ canary });
}

/** Null if the ledger can't be read. The check of the ledger says why. */
const knownService = (ledger: Pick<LedgerView, "service">): Promise<KnownService | null> =>
  ledger.service().catch((error: unknown) => {
    if (error instanceof SyncError && error.code.startsWith("LEDGER_")) return null;
    throw error;
  });

/** What a sync would do now, and warn of. Why it would fail, the checks of the ledger and the tokens say. */
export async function* planFindings(setup: ForecastSetup, stop: AbortSignal): AsyncGenerator<Finding> {
  const forecast = await forecastSync(setup, undefined, stop).catch((error: unknown) => outdated(error));
  if ("level" in forecast) {
    yield forecast;
    return;
  }
  const { plan, refresh, warnings } = forecast;
  try {
    yield numbersFinding(forecast, setup.settings.deletion, await setup.ports.ledger.existingCount({}));
    if (refresh?.hold) yield asFinding("warning", describeHeldRefresh(refresh.hold, refresh.due));
    // The check of the source tells what stands whatever the plan is.
    for (const warned of warnings) if (!warned.isStanding) yield asFinding("warning", warned);
  } finally {
    plan.entries.close();
  }
}

function numbersFinding(forecast: SyncForecast, { limit }: DeletionPolicy, owned: number): Finding {
  const { plan } = forecast;
  const message = `a sync has ${forecastNumbers(forecast) ?? `nothing to do, ${plan.unchanged} unchanged`}`;
  if (plan.guard.kind !== "allowed") {
    const held = describeHeldRemovals(plan.guard);
    return asFinding("warning", { ...held, message: `${message}; ${held.message}` });
  }
  const allowed = removalsAllowed(limit, owned);
  if (missingCount(plan) <= allowed) return ok(message);
  return warning(
    `${message}; deletion.limit lets ${allowed} of ${quantity(owned, "group")} go in 24 hours`,
    "look at the source first: are the missing tenants really gone? groupsync plan names them",
  );
}
