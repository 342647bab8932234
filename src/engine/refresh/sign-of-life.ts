import { msUntilAsked, REPEATED_AFTER } from "../../core/drift/refresh.ts";
import type { ServiceFailure } from "../../core/failure/service-failure.ts";
import { interrupted } from "../../core/failure/sync-error.ts";
import { type Applying, workThrough } from "../loop/work-through.ts";
import type { PlanSettings } from "../plan/make-plan.ts";
import type { Plan } from "../plan/plan.ts";
import { Breaker } from "../service/breaker.ts";
import { groupsToAsk, refreshOf } from "./groups-to-ask.ts";
import { heldRefresh, unsafeToAsk } from "./held-refresh.ts";

/** What a process remembers of a silent service, over all its runs. */
export class Silence {
  /** When an answer last showed nothing; null if none did. */
  unclearAt: Date | null = null;
  /** The groups that alone were failed. They are not asked for again. */
  readonly failed = new Set<string>();
}

type AskingRules = Pick<PlanSettings, "name" | "update" | "deletion">;

/**
 * If the service has answered nobody for an hour, asks for the group of this plan that was verified longest ago, as a refresh
 * does: what the GET finds is healed, counted and told. If it fails three times, or if there is no such group, or no
 * refresh may ask, sends a POST with a token that no group has: its answer tells whether the service lives, and the GET's
 * failure is of its group alone, or has failed itself. Rejects if the service has failed.
 */
export async function seekSignOfLife(
  plan: Plan | undefined,
  of: ReadonlySet<string> | undefined,
  silence: Silence,
  rules: AskingRules,
  run: Applying,
): Promise<void> {
  const { identity, ledger, clock, lease, signal } = run;
  if (msUntilAsked(identity, silence.unclearAt, clock.now()) > 0) return;
  const group = plan && (await mayAsk(plan, rules, run)) ? await firstOf(plan, of, silence, run) : undefined;
  if (signal.aborted) return;
  const found = group
    ? await askFor(group, silence, run)
    : await run.neutral.signOfLife(REPEATED_AFTER, signal);
  const at = clock.now();
  if (found === "unclear") silence.unclearAt = at;
  if (found !== "lives") return;
  identity.answered(at);
  await ledger.write(lease, (transaction) => transaction.recordScope({ answeredAt: at }));
  identity.answerRecorded(at);
  run.observe({ kind: "answered", at });
}

/** The group that was verified longest ago, not since this time. */
interface Oldest {
  readonly id: string;
  readonly since: Date;
}

/** What a failed GET leaves to be found out. Undefined if it was answered, which is recorded with its group. */
async function askFor(
  { id, since }: Oldest,
  silence: Silence,
  run: Applying,
): Promise<"lives" | "unclear" | undefined> {
  let found: "lives" | "unclear" | undefined;
  const failed = async ({ code }: ServiceFailure): Promise<void> => {
    // No group causes that: it ends the run.
    if (code === "UNREACHABLE") return;
    found = code === "REFUSED" ? "lives" : await run.neutral.signOfLife([], run.signal);
    if (found === undefined) throw interrupted();
    silence.failed.add(id);
  };
  // The failures of other groups don't count.
  const breakers = { ...run.breakers, GET: new Breaker(true) };
  const asking = { ...run, breakers, signOfLife: { repeatedAfter: REPEATED_AFTER, failed } };
  await workThrough(only(refreshOf(id, since, asking)), asking);
  return found;
}

/** Without a valid row, nobody knows which tenants are present. */
async function mayAsk(
  { isWhole, conclusive }: Plan,
  { name, update, deletion }: AskingRules,
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
): Promise<Oldest | undefined> {
  const since = plan.reading.at;
  for await (const id of groupsToAsk(plan, { since, of, most: failed.size + 1 }, run))
    if (!failed.has(id)) return { id, since };
  return undefined;
}

async function* only<T>(item: T): AsyncGenerator<T> {
  yield item;
}
