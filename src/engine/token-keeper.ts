import { waitBeforeAttempt } from "../core/backoff.ts";
import { SyncError } from "../core/errors.ts";
import { tokenFingerprint } from "../core/group.ts";
import type { Failure } from "../core/outcome.ts";
import type { LedgerTransaction } from "../ports/ledger.ts";
import type { StoredToken } from "../ports/token-store.ts";
import { patiently } from "./patient-tokens.ts";
import { isRefusal } from "./portions.ts";
import type { Run } from "./run.ts";
import { isOfAnother, tokenShared } from "./shared-tokens.ts";

/** What is written to the ledger once a token is stored. */
type Recording = (transaction: LedgerTransaction) => Promise<void>;

type Keeping = Pick<Run, "ledger" | "tokens" | "lease" | "clock" | "observe" | "signal" | "recent">;

/** How long a new token is tried, and how long once the run is told to end, in milliseconds. */
const LONGEST_TRY = 60_000;
const LONGEST_TRY_AT_THE_END = 10_000;

/**
 * Stores new tokens. The old ones are dead, so a refused write is tried again for a minute, and no other rotation starts
 * meanwhile. If it still fails, no rotation starts for the rest of the run.
 */
export class TokenKeeper {
  readonly #run: Keeping;
  /** Those that the store has refused, and that are tried again. */
  readonly #waiting = new Set<Promise<unknown>>();
  #hasGivenUp = false;

  constructor(run: Keeping) {
    this.#run = run;
  }

  /** Resolves once no token is waiting to be stored: whether all were. */
  async allStored(): Promise<boolean> {
    while (this.#waiting.size > 0) await Promise.allSettled(this.#waiting);
    return !this.#hasGivenUp;
  }

  /**
   * Whether the store takes a token of this group: writes the live one again, and reads it back. `record` joins in the
   * transaction. Resolves to what speaks against a rotation, where something does; rejects with
   * TOKEN_STORE_UNAVAILABLE where the store as a whole doesn't work.
   */
  async prove(live: StoredToken, record: Recording = async () => {}): Promise<Failure | undefined> {
    const { ledger, lease } = this.#run;
    const write = async (transaction: LedgerTransaction): Promise<Failure | undefined> => {
      const refusal = await this.rewrite(live, transaction);
      if (refusal === undefined) await record(transaction);
      return refusal;
    };
    const refusal = await patiently(() => ledger.write(lease, write), this.#run).catch(asRefusal);
    return refusal ?? this.readBack(live);
  }

  /** The first half of the proof, as part of a transaction. */
  async rewrite(live: StoredToken, transaction: LedgerTransaction): Promise<Failure | undefined> {
    const { lease, tokens, signal } = this.#run;
    const options = { rewrite: true, assertHeld: () => lease.assertHeld(), signal };
    const refused = await tokens.write([live], transaction, options);
    const refusal = refused.get(live.user_group_id);
    return refusal && { code: refusal.code, message: refusal.message };
  }

  /** The second half, once that is committed. */
  async readBack({ user_group_id, token }: StoredToken): Promise<Failure | undefined> {
    const lagging = await this.#run.tokens.lagging(new Map([[user_group_id, tokenFingerprint(token)]]));
    return lagging.size === 0 ? undefined : NOT_READ_BACK;
  }

  /**
   * Stores the token, and only then has `record` written to the ledger: until the token is there its tenant is locked
   * out, and what is not recorded the next run finds out. Resolves to why it was given up, if it was; a token of another group is not tried again. Rejects with
   * LEASE_LOST once another instance has taken over, and with LEDGER_UNAVAILABLE where the token is stored and can't be
   * recorded.
   */
  store(token: StoredToken, record: Recording): Promise<SyncError | undefined> {
    return this.#storeAndRecord(token, record, async () => {
      const refusal = await this.#tryToStore(token);
      if (refusal === undefined || refusal.code === "TOKEN_SHARED") return refusal;
      const givenUp = this.#tryAgain(token, refusal);
      this.#waiting.add(givenUp);
      try {
        const failure = await givenUp;
        this.#hasGivenUp ||= failure !== undefined;
        return failure;
      } finally {
        this.#waiting.delete(givenUp);
      }
    });
  }

  /** Likewise, with one try. */
  tryOnce(token: StoredToken, record: Recording): Promise<SyncError | undefined> {
    return this.#storeAndRecord(token, record, () => this.#tryToStore(token));
  }

  #storeAndRecord(
    token: StoredToken,
    record: Recording,
    store: () => Promise<SyncError | undefined>,
  ): Promise<SyncError | undefined> {
    const { ledger, lease, recent } = this.#run;
    const storeAndRecord = async (): Promise<SyncError | undefined> => {
      const failure = await store();
      if (failure !== undefined) return failure;
      recent.add(token.user_group_id, { change: null, token });
      await ledger.write(lease, record);
      return undefined;
    };
    return lease.awaitAlways(storeAndRecord());
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

  /** In the shortest way that there is, which is refused where the lease or the token is another's. */
  async #tryToStore(token: StoredToken): Promise<SyncError | undefined> {
    const { ledger, lease, tokens } = this.#run;
    try {
      if (await tokens.writeAtOnce(token, ledger, lease)) return undefined;
      if (await isOfAnother(token, this.#run)) return tokenShared();
      const refused = await ledger.write(lease, (transaction) =>
        tokens.write([token], transaction, {
          assertHeld: () => transaction.assertOpen(),
          asFarAsPossible: true,
        }),
      );
      return refused.get(token.user_group_id);
    } catch (error) {
      if (!(error instanceof SyncError) || error.code === "LEASE_LOST") throw error;
      return error;
    }
  }
}

/** A transaction that is lost over a token fails that token's group alone; any other error is thrown on. */
export function asRefusal(error: unknown): Failure {
  if (!isRefusal(error)) throw error;
  return { code: error.code, message: error.message };
}

const NOT_READ_BACK: Failure = {
  code: "TOKEN_NOT_STORED",
  message:
    "the token that was written could not be read back as it was: look at the store's triggers and rules",
};
