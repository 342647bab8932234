import { asSyncError, SyncError } from "../../core/failure/sync-error.ts";
import { tokenFingerprint } from "../../core/group/group.ts";
import type { EventOf, GroupEvent } from "../../core/record/next.ts";
import type { GroupRecord } from "../../core/record/record.ts";
import { Secret } from "../../core/secret/secret.ts";
import type { Refusals } from "../../core/tokens/token-copies.ts";
import type { LedgerTransaction } from "../../ports/ledger/ledger.ts";
import type { Observe } from "../../ports/observer.ts";
import type { StoredToken } from "../../ports/token-store.ts";
import type { ServiceIdentity } from "../service/service-identity.ts";
import { hasSharedToken, idsWithSharedTokens, tokenShared } from "../tokens/shared-tokens.ts";
import { removeFromTables, removeOutside, storeInTables, storeOutside } from "../tokens/store-tokens.ts";
import type { TokenWriting } from "../tokens/token-writing.ts";

interface Committing extends TokenWriting {
  readonly identity: ServiceIdentity;
  readonly observe: Observe;
  readonly concurrency: number;
}

/** What is to be committed about one group. */
export interface Entry {
  readonly user_group_id: string;
  /** The live token, to be stored; or `remove` the stored one. */
  readonly token?: Secret | "remove" | undefined;
  /** Whether the ledger has this very token of the group already. So it is no other group's, and nothing is lost if it isn't stored. */
  readonly isKnown?: boolean;
  /** Somebody waits for this: it doesn't wait for more. */
  readonly isUrgent?: boolean;
  /** What to record. `refusal` says why the token was not stored or not removed. */
  events(refusal: SyncError | undefined): readonly GroupEvent[];
}

export interface Committed {
  /** What the ledger knew of the group before; null for an unknown group. */
  readonly before: GroupRecord | null;
  readonly refusal: SyncError | undefined;
}

interface Pending {
  readonly entry: Entry;
  /** Why a store outside of the ledger's database has not taken or removed the token. */
  refusal?: SyncError | undefined;
  readonly resolve: (committed: Committed) => void;
  readonly reject: (error: unknown) => void;
  isCommitted: boolean;
}

/** The service is fast if the last transaction had this many answers. The next transaction then waits for more. */
const FAST = 16;
/** How long a transaction waits for more answers, in milliseconds. Many cost nearly the same as one. */
const GATHER_MS = 100;
/** The most groups that are under way at a time, however fast the service is. */
const MOST_AHEAD = 768;
/** The most answers in one transaction if no token table is in the ledger's database. */
const BATCH = 64;
/** How many more groups than calls are under way at least. Few, because the first call waits for all of the first intents. */
const LEAST_AHEAD = 8;

/**
 * Commits what becomes of groups: the intents of some and the outcomes of others, in one transaction after another. A
 * transaction has all that came while the one before was being committed: one entry if the service is slow, many if it is fast.
 * Only if it is fast does a transaction wait for more.
 *
 * Writes each token before the ledger says so: the ledger must not vouch for a token that isn't stored.
 */
export class Committer {
  readonly #run: Committing;
  #pending: Pending[] = [];
  /** How many of them are answers. */
  #pendingAnswers = 0;
  #isCommitting = false;
  /** How many answers the last transaction had, see `changesToken`. */
  #answers = 0;
  #gathering = new AbortController();
  #isUrgent = false;
  /** Why the tokens of some groups were not stored. No further token is tried: the run has to end. */
  #failure: { readonly error: unknown } | undefined;
  /** A transaction with tokens has failed, so no table takes a token. */
  #hasTableFailed = false;

  constructor(run: Committing) {
    this.#run = run;
  }

  /**
   * How many groups may be under way at a time: those whose answers are being committed, those whose intents are, and those whose
   * calls are sent meanwhile. After a crash, the next run has to ask for each of them.
   */
  get ahead(): number {
    return Math.min(MOST_AHEAD, this.#run.concurrency + LEAST_AHEAD + 3 * this.#answers);
  }

  /** Resolves once the entry is committed, and its token stored. Rejects if it can't be. */
  commit(entry: Entry): Promise<Committed> {
    return new Promise<Committed>((resolve, reject) => {
      const pending = { entry, resolve, reject, isCommitted: false };
      if (entry.token && this.#run.tokens.outside) void this.#changeOutside(pending);
      else this.#add(pending);
    });
  }

  /** Changes the stores that can't take part in a transaction. No other entry waits for that. */
  async #changeOutside(pending: Pending): Promise<void> {
    const { user_group_id, token } = pending.entry;
    const { isKnown = false } = pending.entry;
    try {
      if (this.#failure) throw this.#failure.error;
      if (token instanceof Secret) pending.refusal = await this.#store({ user_group_id, token }, isKnown);
      else pending.refusal = (await removeOutside([user_group_id], this.#run)).get(user_group_id);
      this.#add(pending);
    } catch (error) {
      if (!isKnown) this.#failure ??= { error };
      await this.#fail([pending], error);
    }
  }

  async #store(live: StoredToken, isKnown: boolean): Promise<SyncError | undefined> {
    if (isKnown) return (await storeOutside([live], this.#run)).get(live.user_group_id);
    const fingerprint = tokenFingerprint(live.token);
    const { storing } = this.#run;
    const owner = storing.get(fingerprint) ?? live.user_group_id;
    storing.set(fingerprint, owner);
    if (owner !== live.user_group_id || (await hasSharedToken(live, this.#run))) return tokenShared();
    return (await storeOutside([live], this.#run)).get(live.user_group_id);
  }

  #add(pending: Pending): void {
    this.#pending.push(pending);
    if (changesToken(pending)) this.#pendingAnswers++;
    if (pending.entry.isUrgent) this.hurry();
    else if (!this.#gathering.signal.aborted && this.#isFull) this.#gathering.abort();
    if (!this.#isCommitting) void this.#commitPending();
  }

  /** Commits what is pending without a wait for more, unless what is being committed lets calls begin. */
  hurry(): void {
    this.#isUrgent = true;
    if (!this.#gathering.signal.aborted) this.#gathering.abort();
  }

  async #commitPending(): Promise<void> {
    this.#isCommitting = true;
    // The entries of the same moment go together.
    await Promise.resolve();
    while (this.#pending.length > 0) {
      await this.#gather();
      const batch = this.#take();
      // What needs no table is recorded all the same: an intent that is withdrawn, a token that is stored outside.
      const isHopeless = (pending: Pending): boolean =>
        this.#hasTableFailed && this.#run.tokens.tables !== undefined && changesToken(pending);
      await this.#fail(batch.filter(isHopeless), this.#failure?.error);
      const left = batch.filter((pending) => !isHopeless(pending));
      await retryInHalves(left, (part) => this.#commit(part)).catch((error: unknown) =>
        this.#giveUp(left, error),
      );
      const answers = batch.filter(changesToken).length;
      if (answers < batch.length) this.#isUrgent = this.#pending.some(({ entry }) => entry.isUrgent);
      if (answers > 0) this.#answers = Math.max(answers, Math.floor(this.#answers / 2));
    }
    this.#isCommitting = false;
  }

  /** A transaction failed, perhaps because of a token table: what stores no token is recorded all the same. */
  async #giveUp(batch: readonly Pending[], error: unknown): Promise<void> {
    const left = batch.filter(({ isCommitted }) => !isCommitted);
    const others = left.filter((pending) => !changesToken(pending));
    if (others.length === left.length) return this.#fail(left, error);
    this.#failure ??= { error };
    this.#hasTableFailed = true;
    await this.#fail(left.filter(changesToken), error);
    await this.#commit(others).catch((again: unknown) => this.#fail(others, again));
  }

  async #gather(): Promise<void> {
    this.#gathering = new AbortController();
    if (this.#answers >= FAST && !this.#isFull && !this.#isUrgent)
      await this.#run.clock.sleep(GATHER_MS, this.#gathering.signal);
    this.#isUrgent = false;
  }

  /** Takes as many answers as fit into one transaction, and everything else. */
  #take(): readonly Pending[] {
    const taken: Pending[] = [];
    const left: Pending[] = [];
    let room = this.#batchSize;
    for (const pending of this.#pending) (changesToken(pending) && --room < 0 ? left : taken).push(pending);
    this.#pending = left;
    this.#pendingAnswers = left.length;
    return taken;
  }

  get #isFull(): boolean {
    return this.#pendingAnswers >= this.#batchSize;
  }

  get #batchSize(): number {
    return this.#run.tokens.tables?.batchSize ?? BATCH;
  }

  async #commit(batch: readonly Pending[]): Promise<void> {
    if (batch.length === 0) return;
    const entries = batch.map(({ entry }) => entry);
    const committed = await this.#write(batch).catch((error: unknown) => {
      const [only, ...others] = entries;
      if (only === undefined || others.length > 0 || !isRefusal(error)) throw error;
      return this.#record(entries, async () => new Map([[only.user_group_id, error]]));
    });
    for (const [index, pending] of batch.entries()) {
      const known = committed[index];
      if (known === undefined) continue;
      pending.isCommitted = true;
      pending.resolve(known);
      this.#forget(pending);
    }
  }

  async #write(batch: readonly Pending[]): Promise<readonly Committed[]> {
    const run = this.#run;
    const entries = batch.map(({ entry }) => entry);
    const refusals = (of: (pending: Pending) => boolean): Refusals =>
      new Map(
        batch.flatMap((one) => (one.refusal && of(one) ? [[one.entry.user_group_id, one.refusal]] : [])),
      );
    const isRemoved = ({ entry }: Pending): boolean => entry.token === "remove";
    const isRefused = ({ refusal }: Pending): boolean => refusal?.code === "TOKEN_SHARED";
    const live = batch.flatMap((one): StoredToken[] => {
      const { user_group_id, token } = one.entry;
      return token instanceof Secret && !isRefused(one) ? [{ user_group_id, token }] : [];
    });
    const dead = batch.filter(isRemoved).map(({ entry }) => entry.user_group_id);
    const shared = new Map([
      ...[...(await idsWithSharedTokens(live, run))].map((id) => [id, tokenShared()] as const),
      ...refusals(isRefused),
    ]);
    const own = live.filter(({ user_group_id }) => !shared.has(user_group_id));
    const [unstored, unremoved] = [refusals((one) => !isRemoved(one)), refusals(isRemoved)];
    return this.#record(
      entries,
      async (transaction) =>
        new Map([
          ...shared,
          ...(await storeInTables(own, unstored, transaction, run)),
          ...(await removeFromTables(dead, unremoved, transaction, run)),
        ]),
    );
  }

  /** Runs `store` and records the entries, in one transaction. `store` resolves to the refusals by id. */
  async #record(
    entries: readonly Entry[],
    store: (transaction: LedgerTransaction) => Promise<Refusals>,
  ): Promise<readonly Committed[]> {
    const { ledger, lease, clock, identity, observe } = this.#run;
    const now = clock.now();
    const service = identity.unrecorded;
    const answeredAt = identity.unrecordedAnswer;
    const committed = await ledger.write(lease, async (transaction) => {
      const refused = await store(transaction);
      if (service || answeredAt) await transaction.recordScope({ service, answeredAt });
      const events = entries.flatMap((entry) =>
        entry
          .events(refused.get(entry.user_group_id))
          .map((event): EventOf => ({ ...event, user_group_id: entry.user_group_id })),
      );
      const before = await transaction.change(events, now);
      return entries.map(({ user_group_id: id }) => ({
        before: before.get(id) ?? null,
        refusal: refused.get(id),
      }));
    });
    if (service) identity.recorded(service);
    if (answeredAt) {
      identity.answerRecorded(answeredAt);
      observe({ kind: "answered", at: answeredAt });
    }
    return committed;
  }

  /**
   * Records the deletions of a transaction that failed, although the tokens are still stored. For any other entry, the next
   * run's GET finds out what happened; after a deletion, that GET would create the group again.
   */
  async #fail(batch: readonly Pending[], error: unknown): Promise<void> {
    const deleted = batch
      .filter(({ entry, isCommitted }) => entry.token === "remove" && !isCommitted)
      .map(({ entry }) => entry);
    const refused = new Map(deleted.map(({ user_group_id }) => [user_group_id, asSyncError(error)]));
    if (deleted.length > 0) await this.#record(deleted, async () => refused).catch(() => {});
    for (const pending of batch) {
      pending.reject(error);
      this.#forget(pending);
    }
  }

  #forget({ entry: { user_group_id, token } }: Pending): void {
    const { storing } = this.#run;
    if (storing.size === 0 || !(token instanceof Secret)) return;
    const fingerprint = tokenFingerprint(token);
    if (storing.get(fingerprint) === user_group_id) storing.delete(fingerprint);
  }
}

/** Whether the entry stores or removes a token, which is what good answers lead to. */
const changesToken = ({ entry }: Pending): boolean => entry.token !== undefined;

/**
 * Does `work` with all items in one transaction. If that fails because one item made the transaction fail, does `work` with each
 * half, down to single items.
 */
async function retryInHalves<Item>(
  items: readonly Item[],
  work: (batch: readonly Item[]) => Promise<void>,
): Promise<void> {
  if (items.length <= 1) return work(items);
  try {
    return await work(items);
  } catch (error) {
    if (!isRefusal(error)) throw error;
  }
  const half = Math.ceil(items.length / 2);
  await retryInHalves(items.slice(0, half), work);
  await retryInHalves(items.slice(half), work);
}

/** Whether one token made the transaction fail. The error doesn't say which token of the batch. */
export const isRefusal = (error: unknown): error is SyncError =>
  error instanceof SyncError && (error.code === "TOKEN_NOT_STORED" || error.code === "TOKEN_NOT_REMOVED");
