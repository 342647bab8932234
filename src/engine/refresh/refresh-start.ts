import { type RefreshHold, type RefreshLimit, refreshHold } from "../../core/drift/refresh-guard.ts";
import type { LedgerView } from "../../ports/ledger/ledger.ts";
import type { KnownService } from "../../ports/ledger/service.ts";
import type { Warning } from "../../ports/observer.ts";
import type { PlanOptions, PlanSettings } from "../plan/make-plan.ts";
import type { Plan } from "../plan/plan.ts";
import { dueForRefresh, lastSyncs, type RefreshPolicy } from "./due-for-refresh.ts";
import { goneLately } from "./held-refresh.ts";
import { unsafeToAsk } from "./unsafe-to-ask.ts";

export interface RefreshSettings extends Pick<PlanSettings, "name" | "update" | "deletion"> {
  readonly refresh: RefreshPolicy;
}

/** What is known before the first GET of a refresh. */
export interface RefreshStart {
  /** How many groups it is to ask for, one at least. */
  readonly due: number;
  /** Why no group may be asked for, whatever the operator approves; null if groups may be asked for. */
  readonly unsafe: Warning | null;
  /** Why it is held unless the operator approves it; null if it isn't held, or unsafe. */
  readonly hold: RefreshHold | null;
  readonly limit: RefreshLimit;
  /** How many groups were found gone before it. */
  readonly gone: number;
}

interface Known {
  readonly ledger: Pick<LedgerView, "refreshableCount" | "goneSince" | "existingCount">;
  readonly updates: KnownService["updates"];
  /** When the syncs of all tenants before this one began, newest first. */
  readonly earlier: readonly Date[];
}

type Asked = Pick<PlanOptions, "refresh" | "only">;

/** Whether a sync with this plan refreshes groups at all. */
export function isRefreshing(
  { isWhole, conclusive }: Plan,
  { refresh: asksForAll }: Asked,
  { refresh }: RefreshSettings,
): boolean {
  if (!asksForAll && (!isWhole || refresh.everyMs === null)) return false;
  // Without a valid row, nobody knows which tenants are present.
  return !isWhole || conclusive;
}

/** How a refresh starts; null if no group is due. A sync of all tenants asks for its share, `refresh` for all groups. */
export async function startOfRefresh(
  plan: Plan,
  { refresh: asksForAll, only }: Asked,
  settings: RefreshSettings,
  { ledger, updates, earlier }: Known,
): Promise<RefreshStart | null> {
  const { at: now } = plan.reading;
  const due = asksForAll
    ? Math.min(await ledger.refreshableCount(now), only?.size ?? Number.POSITIVE_INFINITY)
    : await dueForRefresh(settings.refresh, { now, earlier }, ledger);
  if (due === 0) return null;
  const unsafe = unsafeToAsk(settings.update, updates);
  const limit = { limit: settings.deletion.limit, owned: await ledger.existingCount({}) };
  const gone = await goneLately(ledger, now);
  const hold = unsafe ? null : refreshHold(settings.name, gone, limit);
  return { due, unsafe, hold, limit, gone: gone.count };
}

/** How the refresh of a sync that began now would start; null if it would ask for no group. */
export async function foreseenRefresh(
  plan: Plan,
  settings: RefreshSettings,
  ledger: LedgerView,
  { updates }: KnownService,
): Promise<RefreshStart | null> {
  if (!isRefreshing(plan, {}, settings)) return null;
  const earlier = await lastSyncs(ledger, plan.reading.at, settings.refresh);
  return startOfRefresh(plan, {}, settings, { ledger, updates, earlier });
}
