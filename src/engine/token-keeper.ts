import { waitBeforeAttempt } from "../core/backoff.ts";
import { SyncError } from "../core/errors.ts";
import { tokenFingerprint } from "../core/group.ts";
import type { Failure } from "../core/outcome.ts";
import type { LedgerTransaction } from "../ports/ledger.ts";
import type { StoredToken } from "../ports/token-store.ts";
import { ageOf, instantOf } from "./instant.ts";
import { patiently } from "./patient-tokens.ts";
import type { Run } from "./run.ts";

type Keeping = Pick<Run, "ledger" | "tokens" | "lease" | "clock" | "observe" | "signal">;

/**
 * Stores tokens whose predecessors are dead: each is tried again for as long as this process lives, also while it
 * is being told to stop, and no further one is made meanwhile.
 */
export class TokenKeeper {
  readonly #run: Keeping;
  /** Those that the store has refused. */
  readonly #unstored = new Set<Promise<void>>();
  #isProven = false;

  constructor(run: Keeping) {
    this.#run = run;
  }

  /** The store has been seen to take and to return a token, and has refused none since. */
  get isProven(): boolean {
    return this.#isProven;
  }

  /**
   * Once no token is waiting to be stored, writes one that is live already, and reads it back. Resolves to what
   * speaks against rotating it, where something does; rejects with TOKEN_STORE_UNAVAILABLE where the store as a
   * whole doesn't work.
   */
  async prove(live: StoredToken): Promise<Failure | undefined> {
    const { ledger, lease, tokens, signal } = this.#run;
    const { user_group_id: id } = live;
    // A store that is known to refuse would have this one reported as failed, or end the run.
    await this.allStored();
    const rewrite = (transaction: LedgerTransaction) =>
      tokens.write([live], transaction, { rewrite: true, assertHeld: () => lease.assertHeld(), signal });
    const refused = await patiently(() => ledger.write(lease, rewrite), this.#run);
    const refusal = refused.get(id);
    if (refusal) return { code: refusal.code, message: refusal.message };
    if (!(await this.holds(live))) return NOT_READ_BACK;
    this.#isProven = true;
    return undefined;
  }

  /** Whether each store returns this token. */
  async holds({ user_group_id, token }: StoredToken): Promise<boolean> {
    const lagging = await this.#run.tokens.lagging(new Map([[user_group_id, tokenFingerprint(token)]]));
    return lagging.size === 0;
  }

  /** Resolves once no token is waiting to be stored. */
  async allStored(): Promise<void> {
    while (this.#unstored.size > 0) await Promise.allSettled(this.#unstored);
  }

  /**
   * Stores the token, and only then has `record` written to the ledger: until the token is there its tenant is locked
   * out, and what is not recorded the next run finds out. Rejects with LEASE_LOST once another instance has taken
   * over, and with LEDGER_UNAVAILABLE where the token is stored and can't be recorded.
   */
  store(token: StoredToken, record: (transaction: LedgerTransaction) => Promise<void>): Promise<void> {
    const { ledger, lease } = this.#run;
    const storeAndRecord = async (): Promise<void> => {
      await this.#storeAtLast(token);
      await ledger.write(lease, record);
    };
    return lease.awaitAlways(storeAndRecord());
  }

  async #storeAtLast(token: StoredToken): Promise<void> {
    const failure = await this.#tryToStore(token);
    if (failure === undefined) return;
    this.#isProven = false;
    const stored = this.#tryAgain(token, failure);
    this.#unstored.add(stored);
    try {
      await stored;
    } finally {
      this.#unstored.delete(stored);
    }
  }

  async #tryAgain(token: StoredToken, refusal: SyncError): Promise<void> {
    const { clock, observe } = this.#run;
    const { user_group_id } = token;
    let failure: SyncError | undefined = refusal;
    for (let attempt = 2; failure !== undefined; attempt++) {
      const waitMs = waitBeforeAttempt(attempt, () => clock.random());
      const { code, message, hint } = failure;
      observe({ kind: "unstored", user_group_id, code, message, hint, waitMs });
      await clock.sleep(waitMs);
      failure = await this.#tryToStore(token);
    }
  }

  /** In the shortest way that there is, which is refused where the lease is another's. */
  async #tryToStore(token: StoredToken): Promise<SyncError | undefined> {
    const { ledger, lease, tokens, clock } = this.#run;
    try {
      if (await tokens.writeAtOnce(token, ledger, lease)) return undefined;
      const asked = instantOf(clock);
      const refused = await ledger.write(lease, (transaction) => {
        const assertHeld = (): void => {
          if (ageOf(asked, clock) > LONGEST_PAUSE) throw paused();
        };
        return tokens.write([token], transaction, { assertHeld, asFarAsPossible: true });
      });
      return refused.get(token.user_group_id);
    } catch (error) {
      if (!(error instanceof SyncError) || error.code === "LEASE_LOST") throw error;
      return error;
    }
  }
}

/** For so long at least, an open transaction of the ledger keeps everybody else from taking the lease. */
const LONGEST_PAUSE = 30_000;

const paused = (): SyncError =>
  new SyncError(
    "PAUSED",
    "this process stood still before the token was written; it asks for its lease again",
  );

const NOT_READ_BACK: Failure = {
  code: "TOKEN_NOT_STORED",
  message:
    "the token that was written could not be read back as it was: look at the store's triggers and rules",
};
