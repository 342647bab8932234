import { waitAfterFailures } from "../core/backoff.ts";
import type { Upsert } from "../core/change.ts";
import type { SyncError } from "../core/errors.ts";
import type { Failure } from "../core/outcome.ts";
import type { Secret } from "../core/secret.ts";
import type {
  ConfirmedGroup,
  LedgerTransaction,
  StoredResult,
  VouchedOptions,
  VouchedToken,
} from "../ports/ledger.ts";
import type { Observe } from "../ports/observer.ts";
import { applyChanges } from "./apply.ts";
import { inPortions, isRefusal } from "./portions.ts";
import { WRITTEN_TOGETHER } from "./recorder.ts";
import type { Run } from "./run.ts";
import { tellFailure } from "./tell-failure.ts";

/** Looked at together: as many reads of each store, all of which are made again where its quota doesn't last. */
const BATCH = 250;

/** Groups whose tokens no store has. */
export interface Unrestored {
  /** Their GETs have failed, and were told of. */
  readonly inVain: ReadonlySet<string>;
  /** A GET could change them, and was not sent. */
  readonly unaskable: ReadonlySet<string>;
}

/** A token that one store lacks, as another one has it. */
interface Found extends VouchedToken {
  readonly token: Secret;
}

/**
 * Makes the token stores hold what the ledger vouches for: where one of them lacks a token it comes from another that
 * has it, and where none has it by a GET. `select` has the last word on which of a page are meant.
 */
export async function restoreTokens(
  of: VouchedOptions["of"],
  run: Run,
  select = (page: readonly VouchedToken[]): readonly VouchedToken[] => page,
): Promise<Unrestored> {
  const unrestored = { inVain: new Set<string>(), unaskable: new Set<string>() };
  let after: string | undefined;
  while (!run.signal.aborted) {
    const page = await run.ledger.vouchedTokens({ limit: BATCH, after, of });
    if (page.length === 0) break;
    await restore(select(page), unrestored, run);
    after = page.at(-1)?.user_group_id;
  }
  return unrestored;
}

/**
 * Tells of the tokens that no store has and that nobody asks for, after the changes: an update asks for its group's token.
 * Resolves to the groups that were told of.
 */
export async function tellUnaskable(ids: ReadonlySet<string>, run: Run): Promise<ReadonlySet<string>> {
  const told = new Set<string>();
  const of = [...ids];
  for (let from = 0; from < of.length; from += BATCH) {
    const page = await run.ledger.vouchedTokens({ limit: BATCH, of: of.slice(from, from + BATCH) });
    for (const { user_group_id, failure } of page) {
      if (failure === null) continue;
      tellFailure(user_group_id, UNASKABLE, run);
      told.add(user_group_id);
    }
  }
  return told;
}

async function restore(
  vouched: readonly VouchedToken[],
  unrestored: Record<keyof Unrestored, Set<string>>,
  run: Run,
): Promise<void> {
  if (vouched.length === 0) return;
  const lagging = await run.tokens.lagging(
    new Map(vouched.map(({ user_group_id, tokenFingerprint }) => [user_group_id, tokenFingerprint])),
  );
  const found = vouched.flatMap((entry): Found[] => {
    const token = lagging.get(entry.user_group_id);
    return token ? [{ ...entry, token }] : [];
  });
  if (lagging.size > 0) run.observe({ kind: "restoring", tokens: lagging.size });
  for (let from = 0; from < found.length && !run.signal.aborted; from += WRITTEN_TOGETHER)
    await inPortions(found.slice(from, from + WRITTEN_TOGETHER), (portion) => copy(portion, run), run);

  const stored = vouched.filter(({ user_group_id }) => !lagging.has(user_group_id));
  const lost = vouched.filter(({ user_group_id }) => lagging.get(user_group_id) === null);
  const askable = lost.filter(isConfirmed);
  const unaskable = lost.filter(({ confirmed }) => confirmed === null);
  const now = run.clock.now();
  await note(
    [
      ...stored.filter(({ failure }) => failure !== null).map(everywhere),
      // Note the loss first: if the GET fails, nothing else tells the next sync that the token is missing.
      ...askable.filter(({ failure }) => failure === null).map((entry) => missing(entry, LOST, now)),
      ...unaskable.map((entry) => missing(entry, UNASKABLE, now)),
    ],
    now,
    run,
  );
  for (const { user_group_id } of unaskable) unrestored.unaskable.add(user_group_id);
  const observe: Observe = (event) => {
    if (event.kind === "failed") unrestored.inVain.add(event.user_group_id);
    run.observe(event);
  };
  if (askable.length > 0) await applyChanges(getsOf(askable), { ...run, observe });
}

/** Writes tokens to the stores that lack them, and notes which are everywhere by then. */
async function copy(found: readonly Found[], run: Run): Promise<void> {
  const { ledger, lease, tokens, clock, tally, observe } = run;
  const now = clock.now();
  const write = async (transaction: LedgerTransaction): Promise<ReadonlyMap<string, SyncError>> => {
    const refusals = await tokens.write(found, transaction, {
      assertHeld: () => lease.assertHeld(),
      signal: run.signal,
    });
    const results = found.map((entry): StoredResult => {
      const refusal = refusals.get(entry.user_group_id);
      return refusal ? missing(entry, refusal, now) : everywhere(entry);
    });
    await transaction.recordStored(results, now);
    return refusals;
  };
  const refusals = await ledger.write(lease, write).catch(async (error: unknown) => {
    const [only, ...others] = found;
    if (only === undefined || others.length > 0 || !isRefusal(error)) throw error;
    await note([missing(only, error, now)], now, run);
    return new Map([[only.user_group_id, error]]);
  });
  for (const { user_group_id } of found) {
    const refusal = refusals.get(user_group_id);
    if (refusal) tellFailure(user_group_id, refusal, run);
    else {
      tally.counts.restored++;
      observe({ kind: "restored", user_group_id });
    }
  }
}

async function note(results: readonly StoredResult[], now: Date, { ledger, lease }: Run): Promise<void> {
  if (results.length === 0) return;
  await ledger.write(lease, (transaction) => transaction.recordStored(results, now));
}

const everywhere = ({ user_group_id }: VouchedToken): StoredResult => ({ user_group_id, failure: null });

function missing(
  { user_group_id, failure }: VouchedToken,
  { code, message }: Failure,
  now: Date,
): StoredResult {
  const count = (failure?.count ?? 0) + 1;
  const retryAt = new Date(now.getTime() + waitAfterFailures(count));
  return { user_group_id, failure: { code, message, count, retryAt } };
}

const LOST: Failure = { code: "TOKEN_NOT_EVERYWHERE", message: "no store has its token" };
const UNASKABLE: Failure = {
  code: "TOKEN_NOT_EVERYWHERE",
  message:
    "no store has its token, and to ask for it could change the group, of which the service has shown the name alone: a sync with service.update: upsert does so",
};

interface Askable extends VouchedToken {
  readonly confirmed: ConfirmedGroup;
}

const isConfirmed = (entry: VouchedToken): entry is Askable => entry.confirmed !== null;

/** As the service last confirmed them: nothing but the token is asked for. */
async function* getsOf(lost: readonly Askable[]): AsyncGenerator<Upsert> {
  for (const { user_group_id, confirmed } of lost) {
    const change = { kind: "update", user_group_id, ...confirmed, restores: true } as const;
    yield { ...change, underWay: false, failedBefore: false };
  }
}
