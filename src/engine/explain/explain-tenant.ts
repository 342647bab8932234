import { doesUpdate } from "../../core/apply/update-evidence.ts";
import { SyncError } from "../../core/failure/sync-error.ts";
import { digestSeed } from "../../core/group/desired-group.ts";
import { changedFields, type FieldChange, tokenFingerprint } from "../../core/group/group.ts";
import { columnsOf } from "../../core/group/group-rules.ts";
import { UNKNOWN_STATE } from "../../core/group/ledger-group.ts";
import type { Tenant, TenantRow } from "../../core/group/tenant.ts";
import { decide, type PlannedAction } from "../../core/record/decide.ts";
import type { GroupRecord } from "../../core/record/record.ts";
import { dueBefore, type RotationPolicy } from "../../core/rotation/rotation-policy.ts";
import type { GroupJournal } from "../../ports/ledger/groups.ts";
import type { LedgerView } from "../../ports/ledger/ledger.ts";
import type { Warning } from "../../ports/observer.ts";
import type { TenantSource } from "../../ports/tenant-source.ts";
import type { TokenStore } from "../../ports/token-store.ts";
import { predictedFailures, type SyncConditions } from "../check/sync-conditions.ts";
import { heldGroups } from "../plan/held-groups.ts";
import {
  type HostTime,
  type PlanSettings,
  planningContext,
  readLedgerState,
  unknownIds,
} from "../plan/make-plan.ts";
import { tenantsById } from "../plan/read-tenants.ts";
import { unsafeToAsk } from "../refresh/held-refresh.ts";

export interface ExplainSetup {
  readonly ports: { readonly source: TenantSource; readonly ledger: LedgerView };
  readonly settings: PlanSettings;
  readonly rotation: RotationPolicy;
  readonly tokens: SyncConditions["tokens"] & Pick<TokenStore, "read" | "lagging">;
  /** The token destinations, for people to read. */
  readonly tokenDestinations: readonly string[];
  readonly baseUrl: string;
  readonly clock: HostTime;
  /** Reject with LOOKUPS_NOT_INDEXED if the database has to read the whole source to find the tenant. */
  readonly indexedOnly?: boolean;
}

/** What is known of one tenant without a request to the service. Holds no token. */
export interface Explanation extends GroupJournal {
  readonly user_group_id: string;
  /** The columns that the config reads, in the order of the cells of `rows`. */
  readonly columns: readonly string[];
  /** More than one if several rows have this id. */
  readonly rows: readonly TenantRow[];
  /** The table, with its schema; null for a query. */
  readonly table: string | null;
  /** Undefined if the source has no row of it. */
  readonly tenant: Tenant | undefined;
  /**
   * Null if the ledger has no group with this id now. Its `unverified` is null if the service is known to update: then it has
   * taken mapping and properties, even if no answer shows it.
   */
  readonly group: GroupRecord | null;
  /** Since when a sync has found the row rejected; null if no sync has, or its row is no longer rejected. */
  readonly rejectedSince: Date | null;
  /** What the next sync of all tenants does about it, unless it is a removal that is held. Null if nothing. */
  readonly action: PlannedAction | null;
  /** What the confirmed group lacks of the desired group; null if the ledger can't tell. */
  readonly changes: readonly FieldChange[] | null;
  /** Why no sync may ask for the group again; null if one may. */
  readonly unsafe: Warning | null;
  readonly copies: TokenCopies;
  /** For people to read. */
  readonly tokenDestinations: readonly string[];
  /** Whether the token is older than `rotation.max_age`. */
  readonly isTokenTooOld: boolean;
  /** The code that approves what is held; null if only a plan can tell the code, or if nothing is held. */
  readonly approval: string | null;
  /** Why a sync would fail as a whole. */
  readonly failures: readonly SyncError[];
  readonly now: Date;
}

/** Whether the token stores hold the token whose fingerprint the ledger has. */
type TokenCopies =
  /** The ledger knows no token of the group. */
  | { readonly kind: "none known" }
  | { readonly kind: "in every store" }
  /** Several stores: some hold the token, and some don't. */
  | { readonly kind: "in some stores" }
  | { readonly kind: "another token"; readonly fingerprint: string }
  | { readonly kind: "no token" }
  | { readonly kind: "unreadable"; readonly error: SyncError };

/**
 * Reads one tenant, its group and its token, and decides as a sync of all tenants does. Sends nothing to the service, and
 * changes nothing. Rejects as the source and the ledger do, and with UNKNOWN_ID if neither of them has the id.
 */
export async function explainTenant(
  id: string,
  { ports, settings, rotation, tokens, tokenDestinations, baseUrl, clock, indexedOnly }: ExplainSetup,
  stop: AbortSignal,
): Promise<Explanation> {
  const { source, ledger } = ports;
  const { rules, name } = settings;
  const state = await readLedgerState({ ledger, clock });
  const { now, service } = state;
  const context = planningContext(settings, state, now, { isWhole: true, eager: false });
  const columns = columnsOf(rules);
  const lookups = await source.lookups(columns, digestSeed(rules), stop, context.reading.table);
  try {
    if (indexedOnly && !lookups.isIndexed)
      throw new SyncError(
        "LOOKUPS_NOT_INDEXED",
        "the database would read the whole source to find one tenant, so the page doesn't ask it",
        { hint: "create an index on the column of group.id, or run groupsync explain" },
      );
    const [rows, records, journal, [rejection]] = await Promise.all([
      lookups.rowsOf([id]),
      ledger.records([id]),
      ledger.journalOf(id),
      ledger.rejections([id]),
    ]);
    const found = records.get(id) ?? null;
    const group = found && doesUpdate(service.evidence) ? { ...found, unverified: null } : found;
    const tenant = (await tenantsById(rows, rules)).get(id);
    const isRemembered = journal.removals.length + journal.formerTokens.length > 0;
    if (tenant === undefined && group === null && !isRemembered) throw unknownIds(new Set([id]));
    const { tokenFingerprint = null, tokenSince = null } = group ?? {};
    const due = dueBefore(rotation, now);
    return {
      user_group_id: id,
      columns,
      rows,
      table: lookups.table,
      tenant,
      group,
      ...journal,
      rejectedSince: tenant?.kind === "rejected" ? (rejection?.since ?? null) : null,
      action: decide(tenant, group ?? undefined, context).action,
      changes: changesOf(tenant, group),
      unsafe: unsafeToAsk(context.update, context.serviceUpdates),
      copies: await copiesOf(id, tokenFingerprint, tokens, stop),
      tokenDestinations,
      isTokenTooOld: due !== null && tokenSince !== null && tokenSince <= due,
      approval: group?.held ? ((await heldGroups(ledger))?.code ?? null) : null,
      failures: await predictedFailures({ ledger, tokens, service, name, baseUrl }),
      now,
    };
  } finally {
    await lookups.close();
  }
}

function changesOf(tenant: Tenant | undefined, group: GroupRecord | null): readonly FieldChange[] | null {
  if (tenant?.kind !== "desired" || !group?.confirmed || group.fingerprint === UNKNOWN_STATE) return null;
  return changedFields(group.confirmed, tenant.group);
}

async function copiesOf(
  id: string,
  fingerprint: string | null,
  tokens: ExplainSetup["tokens"],
  stop: AbortSignal,
): Promise<TokenCopies> {
  if (fingerprint === null) return { kind: "none known" };
  try {
    const lagging = await tokens.lagging(new Map([[id, fingerprint]]), stop);
    const copies = lagging.get(id);
    if (copies === undefined) return { kind: "in every store" };
    if (copies.token !== null) return { kind: "in some stores" };
    const token = (await tokens.read([id], stop)).get(id);
    return token === undefined
      ? { kind: "no token" }
      : { kind: "another token", fingerprint: tokenFingerprint(token) };
  } catch (error) {
    if (!(error instanceof SyncError) || error.code === "INTERRUPTED") throw error;
    return { kind: "unreadable", error };
  }
}
