import { SyncError } from "../core/errors.ts";
import { interrupted } from "../core/interrupted.ts";
import type { Secret } from "../core/secret.ts";
import type { Lease } from "../ports/lease.ts";
import type { Ledger, LedgerTransaction } from "../ports/ledger.ts";
import type {
  ChangeOptions,
  StoredToken,
  TokenDestination,
  TokenStore,
  WriteOptions,
} from "../ports/token-store.ts";
import type { Run } from "./run.ts";

/** Before a store that asks for patience is asked again, and how long that goes on: quotas are often by the minute. */
const WAIT = 15_000;
const LONGEST_WAIT = 10 * 60_000;

type Waiting = Pick<Run, "clock" | "observe" | "signal">;

/** Does `work` again while a token store asks for patience. Rejects with INTERRUPTED where the run is to end meanwhile. */
export async function patiently<T>(work: () => Promise<T>, waiting: Waiting): Promise<T> {
  const { clock } = waiting;
  const begun = clock.monotonic();
  for (;;) {
    try {
      return await work();
    } catch (error) {
      if (!isBusy(error) || clock.monotonic() - begun > LONGEST_WAIT) throw error;
      await pause(error, waiting);
    }
  }
}

/** Leaves the store alone for a while. */
export async function pause({ message }: SyncError, { clock, observe, signal }: Waiting): Promise<void> {
  if (signal.aborted) throw interrupted();
  observe({ kind: "waiting", ms: WAIT, reason: message });
  await clock.sleep(WAIT, signal);
  if (signal.aborted) throw interrupted();
}

export const isBusy = (error: unknown): error is SyncError =>
  error instanceof SyncError && error.code === "TOKEN_STORE_BUSY";

/** A token store that is waited for where that keeps no transaction open: `write` and `remove` are their caller's. */
export class PatientTokens implements TokenStore {
  readonly #tokens: TokenStore;
  readonly #waiting: Waiting;

  constructor(tokens: TokenStore, waiting: Waiting) {
    this.#tokens = tokens;
    this.#waiting = waiting;
  }

  inspect(): Promise<void> {
    return this.#tokens.inspect();
  }

  get destinations(): readonly TokenDestination[] {
    const patient = <T>(work: () => Promise<T>): Promise<T> => patiently(work, this.#waiting);
    return this.#tokens.destinations.map((destination) => ({
      title: destination.title,
      holdsAny: () => patient(() => destination.holdsAny()),
      ids: () => destination.ids(),
      owner: () => patient(() => destination.owner()),
      claim: (mark, former) => patient(() => destination.claim(mark, former)),
      release: () => destination.release(),
      foldsCase: () => patient(() => destination.foldsCase()),
      table: () => patient(async () => (await destination.table?.()) ?? null),
    }));
  }

  prepare(): Promise<void> {
    return patiently(() => this.#tokens.prepare(this.#waiting.signal), this.#waiting);
  }

  holdsAny(): Promise<boolean> {
    return patiently(() => this.#tokens.holdsAny(), this.#waiting);
  }

  read(ids: readonly string[]): Promise<ReadonlyMap<string, Secret>> {
    return patiently(() => this.#tokens.read(ids, this.#waiting.signal), this.#waiting);
  }

  lagging(expected: ReadonlyMap<string, string>): Promise<ReadonlyMap<string, Secret | null>> {
    return patiently(() => this.#tokens.lagging(expected, this.#waiting.signal), this.#waiting);
  }

  write(
    tokens: readonly StoredToken[],
    transaction: LedgerTransaction,
    options?: WriteOptions,
  ): Promise<ReadonlyMap<string, SyncError>> {
    return this.#tokens.write(tokens, transaction, options);
  }

  writeAtOnce(token: StoredToken, ledger: Ledger, lease: Lease): Promise<boolean> {
    return this.#tokens.writeAtOnce(token, ledger, lease);
  }

  remove(
    ids: readonly string[],
    transaction: LedgerTransaction,
    options?: ChangeOptions,
  ): Promise<ReadonlyMap<string, SyncError>> {
    return this.#tokens.remove(ids, transaction, options);
  }
}
