import type { Failure } from "../../core/failure/sync-error.ts";
import type { Upsert } from "../../core/plan/change.ts";
import { type ConfirmedGroup, isVouchedFor, knownGroup } from "../../core/record/candidates.ts";
import { type EventOf, storingFailed } from "../../core/record/next.ts";
import type { GroupRecord } from "../../core/record/record.ts";
import type { Secret } from "../../core/secret/secret.ts";
import type { Refusals } from "../../core/tokens/token-copies.ts";
import type { LedgerTransaction } from "../../ports/ledger/ledger.ts";
import type { Observe } from "../../ports/observer.ts";
import { HELD_ALREADY, holding } from "../lease/keys.ts";
import type { LedgerWriting } from "../lease/lease.ts";
import { type Applying, workThrough } from "../loop/work-through.ts";
import { candidatePages } from "../plan/candidate-pages.ts";
import { type Reporting, reportFailure } from "../report/tally.ts";
import { isRefusal, retryInHalves, type TokenWriting } from "../tokens/retry-batch.ts";
import { storeInTables, storeOutside } from "../tokens/store-tokens.ts";

/** Groups per page. Each takes one read of each store, and if a store's quota runs out, the whole page is read again. */
const BATCH = 250;

/** Groups whose tokens only the service can tell, and that were not restored. */
export interface Unrestored {
  /** Their GETs failed, and the failures were reported. */
  readonly failedGets: ReadonlySet<string>;
  /** No GET was sent, because it could change the group. */
  readonly unaskable: ReadonlySet<string>;
}

/** A token that one store lacks and another store has. */
interface Found extends GroupRecord {
  readonly token: Secret;
}

/**
 * Writes each token that the ledger vouches for to the stores that lack it. The token comes from a store that has it. It
 * comes from a GET if no store has it, or if a store has another token: the ledger may be older than that token, and only
 * the service knows which one is live. `select` chooses groups of a page.
 */
export async function restoreTokens(
  of: "all" | "not everywhere" | readonly string[],
  run: Applying,
  select = (page: readonly GroupRecord[]): readonly GroupRecord[] => page,
): Promise<Unrestored> {
  const unrestored = { failedGets: new Set<string>(), unaskable: new Set<string>() };
  if (run.signal.aborted) return unrestored;
  for await (const page of candidatePages(run.ledger, { kind: "vouched", of }, BATCH)) {
    const ids = page.map(({ user_group_id }) => user_group_id);
    await holding(run.keys, ids, async () => {
      await restore(select(await upToDate(page, run)), unrestored, { ...run, keys: HELD_ALREADY });
    });
    if (run.signal.aborted) break;
  }
  return unrestored;
}

/** What the page says of a tenant is outdated if somebody has looked the tenant up meanwhile: reads that part again. */
async function upToDate(
  page: readonly GroupRecord[],
  { ledger, keys }: Pick<Applying, "ledger" | "keys">,
): Promise<readonly GroupRecord[]> {
  const isOutdated = ({ user_group_id }: GroupRecord): boolean => keys.wasLookedUp(user_group_id);
  const again = page.filter(isOutdated).map(({ user_group_id }) => user_group_id);
  const records = [
    ...page.filter((record) => !isOutdated(record)),
    ...(again.length > 0 ? await ledger.records(again) : new Map<string, GroupRecord>()).values(),
  ];
  return records.filter(isVouchedFor);
}

async function restore(
  vouched: readonly GroupRecord[],
  unrestored: { readonly failedGets: Set<string>; readonly unaskable: Set<string> },
  run: Applying,
): Promise<void> {
  if (vouched.length === 0) return;
  const expected = new Map(
    vouched.map(({ user_group_id, tokenFingerprint }) => [user_group_id, tokenFingerprint ?? ""]),
  );
  const lagging = await run.tokens.lagging(expected, run.signal);
  const found = vouched.flatMap((entry): Found[] => {
    const copies = lagging.get(entry.user_group_id);
    return copies?.token && !copies.isContradicted ? [{ ...entry, token: copies.token }] : [];
  });
  if (lagging.size > 0) run.observe({ kind: "restoring", tokens: lagging.size });
  const batchSize = run.tokens.tables?.batchSize ?? BATCH;
  for (let from = 0; from < found.length && !run.signal.aborted; from += batchSize)
    await retryInHalves(found.slice(from, from + batchSize), (batch) => copy(batch, run));

  const stored = vouched.filter(({ user_group_id }) => !lagging.has(user_group_id));
  const askable: Askable[] = [];
  const results = stored.filter(({ failures }) => failures.storing !== null).map(storedEverywhere);
  const now = run.clock.now();
  for (const group of vouched) {
    const { user_group_id, failures } = group;
    const copies = lagging.get(user_group_id);
    if (!copies || (copies.token && !copies.isContradicted)) continue;
    const problem = copies.isContradicted ? CONTRADICTED : LOST;
    const confirmed = knownGroup(group);
    if (confirmed) askable.push({ user_group_id, confirmed });
    else unrestored.unaskable.add(user_group_id);
    // Record the problem first: if the run dies before the GET is answered, nothing else tells the next sync of it.
    if (!confirmed || failures.storing === null)
      results.push(notStored(group, notEverywhere(confirmed ? problem : `${problem}${UNASKABLE}`), now));
  }
  await record(results, now, run);
  for (const id of await askForTokens(askable, run)) unrestored.failedGets.add(id);
}

/**
 * Stores the tokens that GETs tell. Each sends the group as the service last confirmed it, and so changes nothing. Resolves to the
 * groups whose GET failed; the failures were reported.
 */
export async function askForTokens(groups: readonly Askable[], run: Applying): Promise<ReadonlySet<string>> {
  const failed = new Set<string>();
  const observe: Observe = (event) => {
    if (event.kind === "failed") failed.add(event.user_group_id);
    run.observe(event);
  };
  if (groups.length > 0) await workThrough(getsOf(groups), { ...run, observe });
  return failed;
}

/** Writes tokens to the stores that lack them, and records which tokens all stores have now. */
async function copy(found: readonly Found[], run: TokenWriting & Reporting): Promise<void> {
  const { ledger, lease, clock, tally, observe } = run;
  const now = clock.now();
  const outside = await storeOutside(found, run);
  const write = async (transaction: LedgerTransaction): Promise<Refusals> => {
    const refusals = await storeInTables(found, outside, transaction, run);
    const results = found.map((entry): EventOf => {
      const refusal = refusals.get(entry.user_group_id);
      return refusal ? notStored(entry, refusal, now) : storedEverywhere(entry);
    });
    await transaction.change(results, now);
    return refusals;
  };
  const refusals = await ledger.write(lease, write).catch(async (error: unknown) => {
    const [only, ...others] = found;
    if (only === undefined || others.length > 0 || !isRefusal(error)) throw error;
    await record([notStored(only, error, now)], now, run);
    return new Map([[only.user_group_id, error]]);
  });
  for (const { user_group_id } of found) {
    const refusal = refusals.get(user_group_id);
    if (refusal) reportFailure(user_group_id, refusal, run);
    else {
      tally.counts.restored++;
      observe({ kind: "restored", user_group_id });
    }
  }
}

async function record(
  results: readonly EventOf[],
  now: Date,
  { ledger, lease }: LedgerWriting,
): Promise<void> {
  if (results.length === 0) return;
  await ledger.write(lease, (transaction) => transaction.change(results, now));
}

const storedEverywhere = ({ user_group_id }: GroupRecord): EventOf => ({
  kind: "storing_ended",
  user_group_id,
  failure: null,
});

const notStored = ({ user_group_id, failures }: GroupRecord, failure: Failure, now: Date): EventOf =>
  storingFailed(user_group_id, failures.storing, failure, now);

const LOST = "no token store has the token of this group";
const CONTRADICTED =
  "a token store has another token for this group than the ledger knows, and only the service can tell which one is live";

const notEverywhere = (problem: string): Failure => ({ code: "TOKEN_NOT_EVERYWHERE", message: problem });
const UNASKABLE =
  ", and asking the service for it could change the group, because only the group's name at the service is known; a sync with service.update: upsert asks for it";

/** A group whose token only the service can tell. */
interface Askable extends Pick<GroupRecord, "user_group_id"> {
  readonly confirmed: ConfirmedGroup;
}

async function* getsOf(groups: readonly Askable[]): AsyncGenerator<Upsert> {
  for (const { user_group_id, confirmed } of groups) {
    const change = { kind: "update", user_group_id, ...confirmed, restores: true } as const;
    yield { ...change, underWay: false, failedBefore: false };
  }
}
