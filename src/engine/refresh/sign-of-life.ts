import { LONGEST_SILENCE, msUntilAsked, REPEATED_AFTER } from "../../core/drift/refresh.ts";
import type { ServiceFailure } from "../../core/failure/service-failure.ts";
import { interrupted, isInterruption, SyncError } from "../../core/failure/sync-error.ts";
import type { Upsert } from "../../core/plan/change.ts";
import type { RunEvent } from "../../ports/observer.ts";
import { type Applying, applyChanges } from "../apply/apply-changes.ts";
import { ALREADY_LOCKED, withLock } from "../lease/tenant-locks.ts";
import { makePlan, type PlanPorts, type PlanSettings } from "../plan/make-plan.ts";
import type { Plan } from "../plan/plan.ts";
import { Tally } from "../report/tally.ts";
import { Breaker } from "../service/breaker.ts";
import { groupsToAsk } from "./groups-to-ask.ts";
import { heldRefresh, unsafeToAsk } from "./held-refresh.ts";

/** What a process remembers of a silent service, over all its runs. */
export class Silence {
  /** When an answer last showed nothing; null if none did. */
  unclearAt: Date | null = null;
  /** The groups that alone were failed. They are not asked for again. */
  readonly failed = new Set<string>();
}

/** `silence` is missing if this process doesn't ask. */
export interface SignOfLifeSettings extends Pick<PlanSettings, "name" | "update" | "deletion"> {
  readonly refresh: { readonly silence?: Silence };
}

export type AskingSettings = PlanSettings & SignOfLifeSettings;

/** Asks for a sign of life whenever the service has answered nobody for an hour. Rejects as `seekSignOfLife` does. */
export async function askIfSilent(
  ports: PlanPorts,
  settings: AskingSettings,
  run: Applying,
  until: AbortSignal,
): Promise<void> {
  const { clock, identity } = run;
  const { silence = new Silence() } = settings.refresh;
  while (!until.aborted) {
    const ms = msUntilAsked(identity, silence.unclearAt, clock.now());
    if (ms > 0) await clock.sleep(Math.min(LONGEST_SILENCE, ms), until);
    else await askOnce(ports, settings, silence, { ...run, signal: until }).catch(unlessInterrupted);
  }
}

function unlessInterrupted(error: unknown): void {
  if (!(error instanceof SyncError && isInterruption(error))) throw error;
}

/** Looks at the tenant first, as the ledger alone can't tell whether its row is rejected or not ready. */
async function askOnce(
  ports: PlanPorts,
  { refresh: _, ...others }: AskingSettings,
  silence: Silence,
  outer: Applying,
): Promise<void> {
  const settings = { ...others, refresh: { silence } };
  const { ledger, clock, locks } = outer;
  const now = clock.now();
  const { failed } = silence;
  const oldest = await ledger.refreshable({ since: now, now, limit: failed.size + 1 });
  const candidate = oldest.find(({ user_group_id }) => !failed.has(user_group_id));
  // The other counts are of the full sync alone.
  const observe = (event: RunEvent): void => {
    if (event.kind === "drift") outer.tally.counts.drift[event.drift]++;
    outer.observe(event);
  };
  const run = { ...outer, observe, tally: new Tally(), locks: ALREADY_LOCKED };
  if (candidate === undefined) return seekSignOfLife(undefined, undefined, settings, run);
  const { user_group_id: id } = candidate;
  const ids = new Set([id]);
  await withLock(locks, [id], async () => {
    const state = { service: await ledger.service(), history: await ledger.readHistory() };
    const plan = await makePlan(ports, settings, state, now, run.signal, { only: ids, isNoticed: true });
    try {
      await seekSignOfLife(plan, ids, settings, run);
    } finally {
      plan.entries.close();
    }
  });
}

/**
 * If the service has answered nobody for an hour, asks for the group of this plan that was verified longest ago, as a refresh
 * does: what the GET finds is healed, counted and told. If it fails three times, or if there is no such group, or no
 * refresh may ask, sends a POST with a token that no group has: its answer tells whether the service lives, and the GET's
 * failure is of its group alone, or has failed itself. Rejects if the service has failed.
 */
export async function seekSignOfLife(
  plan: Plan | undefined,
  of: ReadonlySet<string> | undefined,
  settings: SignOfLifeSettings,
  run: Applying,
): Promise<void> {
  const { identity, ledger, clock, lease, signal } = run;
  const { silence } = settings.refresh;
  if (!silence || msUntilAsked(identity, silence.unclearAt, clock.now()) > 0) return;
  const group =
    plan && (await mayAsk(plan, settings, run)) ? await firstOf(plan, of, silence, run) : undefined;
  if (signal.aborted) return;
  let found: "lives" | "unclear" | undefined;
  if (group) {
    const failed = async ({ code }: ServiceFailure): Promise<void> => {
      // No group causes that: it ends the run.
      if (code === "UNREACHABLE") return;
      found = code === "REFUSED" ? "lives" : await run.neutral.signOfLife([], signal);
      if (found === undefined) throw interrupted();
      silence.failed.add(group.user_group_id);
    };
    // The failures of other groups don't count.
    const breakers = { ...run.breakers, GET: new Breaker(true) };
    const signOfLife = { repeatedAfter: REPEATED_AFTER, failed };
    await applyChanges(only(group), { ...run, breakers, signOfLife });
  } else {
    found = await run.neutral.signOfLife(REPEATED_AFTER, signal);
  }
  const at = clock.now();
  if (found === "unclear") silence.unclearAt = at;
  // The answer to a GET is recorded with its group.
  if (found !== "lives") return;
  identity.answered(at);
  await ledger.write(lease, (transaction) => transaction.recordAnswer(at));
  identity.answerRecorded(at);
  run.observe({ kind: "answered", at });
}

/** Without a valid row, nobody knows which tenants are present. */
async function mayAsk(
  { isWhole, conclusive }: Plan,
  { name, update, deletion }: Pick<PlanSettings, "name" | "update" | "deletion">,
  { identity, ledger, clock }: Applying,
): Promise<boolean> {
  if ((isWhole && !conclusive) || unsafeToAsk(update, identity.updates)) return false;
  return (await heldRefresh(ledger, { name, deletion }, clock.now())) === null;
}

async function firstOf(
  plan: Plan,
  of: ReadonlySet<string> | undefined,
  { failed }: Silence,
  run: Applying,
): Promise<Upsert | undefined> {
  const wanted = { since: plan.reading.at, of, most: failed.size + 1 };
  for await (const group of groupsToAsk(plan, wanted, run))
    if (!failed.has(group.user_group_id)) return group;
  return undefined;
}

async function* only<T>(item: T): AsyncGenerator<T> {
  yield item;
}
