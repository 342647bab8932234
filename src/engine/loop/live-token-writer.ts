import { waitBeforeAttempt } from "../../core/failure/backoff.ts";
import { type Failure, SyncError } from "../../core/failure/sync-error.ts";
import { tokenFingerprint } from "../../core/group/group.ts";
import { refusalIn } from "../../core/tokens/token-copies.ts";
import type { LedgerTransaction } from "../../ports/ledger/ledger.ts";
import type { StoredToken } from "../../ports/token-store.ts";
import { isRefusal } from "../loop/committer.ts";
import { hasSharedToken, tokenShared } from "../tokens/shared-tokens.ts";
import { storeInTables, storeOutside } from "../tokens/store-tokens.ts";
import type { TokenWriting } from "../tokens/token-writing.ts";

/** How long storing a new token is tried, and how long once the run is told to end; in milliseconds. */
const LONGEST_TRY = 60_000;
const LONGEST_TRY_AT_THE_END = 10_000;

/**
 * Proves before a rotation that the store takes this group's token, and stores the new token after it. The old token is
 * dead by then, so a refused write is tried again for a minute, and no other rotation starts meanwhile. If the write still
 * fails, no rotation starts for the rest of the run.
 */
export class LiveTokenWriter {
  readonly #run: TokenWriting;
  /** Tokens that the store refused and that are being tried again. */
  readonly #waiting = new Set<Promise<unknown>>();
  #hasGivenUp = false;

  constructor(run: TokenWriting) {
    this.#run = run;
  }

  /** Waits until no token is being tried again. Resolves to whether all tokens of this run were stored. */
  async allStored(): Promise<boolean> {
    while (this.#waiting.size > 0) await Promise.allSettled(this.#waiting);
    return !this.#hasGivenUp;
  }

  /**
   * Proves that the store takes a token of this group: writes the live token again, and reads it back. Resolves to a failure if
   * the group must not be rotated; rejects with TOKEN_STORE_UNAVAILABLE if the store doesn't work at all.
   */
  async prove(live: StoredToken): Promise<Failure | undefined> {
    const { ledger, lease, tokens, signal } = this.#run;
    const { user_group_id } = live;
    const rewrite = { rewrite: true };
    const outside = await storeOutside([live], this.#run, rewrite);
    const write = async (transaction: LedgerTransaction): Promise<SyncError | undefined> => {
      const refused = await storeInTables([live], outside, transaction, this.#run, rewrite);
      return refused.get(user_group_id);
    };
    const refusal = await ledger.write(lease, write).catch((error: unknown) => {
      if (!isRefusal(error)) throw error;
      return error;
    });
    if (refusal) return { code: refusal.code, message: refusal.message };
    const expected = new Map([[user_group_id, tokenFingerprint(live.token)]]);
    const lagging = await tokens.lagging(expected, signal);
    return lagging.size === 0 ? undefined : NOT_READ_BACK;
  }

  /**
   * Stores the token, and then runs `record`, which says so in the ledger. The token comes first, because its tenant is
   * locked out until then; if the record is lost, the next run asks for the token. Resolves to the failure if the token
   * could not be stored; a token that belongs to another group is not tried again. Rejects once the ledger takes nothing
   * more of this run, and with LEDGER_UNAVAILABLE if the token is stored and can't be recorded.
   */
  store(token: StoredToken, record: () => Promise<void>): Promise<SyncError | undefined> {
    const { lease, storing } = this.#run;
    const storeAndRecord = async (): Promise<SyncError | undefined> => {
      const fingerprint = tokenFingerprint(token.token);
      if (storing.has(fingerprint)) return tokenShared();
      storing.set(fingerprint, token.user_group_id);
      try {
        const failure = await this.#storeForAMinute(token);
        if (failure === undefined) await record();
        return failure;
      } finally {
        storing.delete(fingerprint);
      }
    };
    return lease.awaitAlways(storeAndRecord());
  }

  async #storeForAMinute(token: StoredToken): Promise<SyncError | undefined> {
    const refusal = await this.#tryToStore(token);
    if (refusal === undefined || refusal.code === "TOKEN_SHARED") return refusal;
    const retries = this.#tryAgain(token, refusal);
    this.#waiting.add(retries);
    let isStored = false;
    try {
      const failure = await retries;
      isStored = failure === undefined;
      return failure;
    } finally {
      // Also if the retries rejected, as when the lease is lost meanwhile.
      this.#hasGivenUp ||= !isStored;
      this.#waiting.delete(retries);
    }
  }

  async #tryAgain(token: StoredToken, refusal: SyncError): Promise<SyncError | undefined> {
    const { clock, observe, signal } = this.#run;
    const { user_group_id } = token;
    let failure = refusal;
    let until = clock.monotonic() + LONGEST_TRY;
    let isEnding = false;
    for (let attempt = 2; ; attempt++) {
      if (signal.aborted && !isEnding) {
        isEnding = true;
        until = Math.min(until, clock.monotonic() + LONGEST_TRY_AT_THE_END);
      }
      const left = until - clock.monotonic();
      if (left <= 0) return failure;
      const waitMs = Math.min(
        left,
        waitBeforeAttempt(attempt, () => clock.random()),
      );
      const { code, message, hint } = failure;
      observe({ kind: "unstored", user_group_id, code, message, hint, waitMs });
      await clock.sleep(waitMs, isEnding ? undefined : signal);
      const next = await this.#tryToStore(token);
      if (next === undefined) return undefined;
      failure = next;
    }
  }

  /** Tries the quickest way to store the token first. Refuses if the lease is lost or the token belongs to another group. */
  async #tryToStore(token: StoredToken): Promise<SyncError | undefined> {
    const { ledger, lease } = this.#run;
    const { outside, tables } = this.#run.tokens;
    try {
      const isInTables = await tables?.writeAtOnce(token, lease);
      if (isInTables && !outside) return undefined;
      if (await hasSharedToken(token, this.#run)) return tokenShared();
      const stores = [
        ...(tables && !isInTables ? [ledger.write(lease, (to) => tables.write([token], to))] : []),
        ...(outside ? [storeOutside([token], this.#run)] : []),
      ];
      // A store that is away doesn't keep the token from the others.
      await Promise.allSettled(stores);
      const refusals = (await Promise.all(stores)).map((refused) => refused.get(token.user_group_id));
      return refusalIn(isInTables ? [undefined, ...refusals] : refusals);
    } catch (error) {
      if (!(error instanceof SyncError) || ["LEASE_LOST", "LEDGER_REWOUND"].includes(error.code)) throw error;
      return error;
    }
  }
}

export const NOT_READ_BACK: Failure = {
  code: "TOKEN_NOT_STORED",
  message:
    "the token that was written could not be read back as it was: look at the store's triggers and rules",
};
