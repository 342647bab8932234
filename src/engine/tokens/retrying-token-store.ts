import type { SyncError } from "../../core/failure/sync-error.ts";
import type { Finding } from "../../core/report/finding.ts";
import type { Secret } from "../../core/secret/secret.ts";
import type { LaggingToken } from "../../core/tokens/token-copies.ts";
import type { Lease } from "../../ports/ledger/lease.ts";
import type { LedgerTransaction } from "../../ports/ledger/ledger.ts";
import type {
  ChangeOptions,
  RehearsalOptions,
  StoredToken,
  TokenDestination,
  TokenStore,
  WriteOptions,
} from "../../ports/token-store.ts";
import { retryWhileBusy, type Waiting } from "./retry-batch.ts";

/**
 * Repeats the calls of a token store while the store is busy, see `retryWhileBusy`. Does not repeat `write` and `remove`:
 * they belong to a ledger transaction of the caller, which must not stay open for minutes.
 */
export class RetryingTokenStore implements TokenStore {
  readonly #tokens: TokenStore;
  readonly #waiting: Waiting;

  constructor(tokens: TokenStore, waiting: Waiting) {
    this.#tokens = tokens;
    this.#waiting = waiting;
  }

  get batchSize(): number {
    return this.#tokens.batchSize;
  }

  inspect(): Promise<void> {
    return this.#tokens.inspect();
  }

  get destinations(): readonly TokenDestination[] {
    const patient = <T>(work: () => Promise<T>): Promise<T> => retryWhileBusy(work, this.#waiting);
    return this.#tokens.destinations.map((destination) => ({
      title: destination.title,
      holdsAny: () => patient(() => destination.holdsAny()),
      ids: () => destination.ids(),
      owner: () => patient(() => destination.owner()),
      claim: (mark, former) => patient(() => destination.claim(mark, former)),
      giveUp: (mark) => patient(() => destination.giveUp(mark)),
      release: () => destination.release(),
      table: () => patient(async () => (await destination.table?.()) ?? null),
    }));
  }

  prepare(): Promise<void> {
    return retryWhileBusy(() => this.#tokens.prepare(this.#waiting.signal), this.#waiting);
  }

  rehearse(options: RehearsalOptions): Promise<readonly Finding[]> {
    return retryWhileBusy(() => this.#tokens.rehearse(options), this.#waiting);
  }

  holdsAny(): Promise<boolean> {
    return retryWhileBusy(() => this.#tokens.holdsAny(), this.#waiting);
  }

  read(ids: readonly string[]): Promise<ReadonlyMap<string, Secret>> {
    return retryWhileBusy(() => this.#tokens.read(ids, this.#waiting.signal), this.#waiting);
  }

  lagging(expected: ReadonlyMap<string, string>): Promise<ReadonlyMap<string, LaggingToken>> {
    return retryWhileBusy(() => this.#tokens.lagging(expected, this.#waiting.signal), this.#waiting);
  }

  write(
    tokens: readonly StoredToken[],
    transaction: LedgerTransaction,
    options?: WriteOptions,
  ): Promise<ReadonlyMap<string, SyncError>> {
    return this.#tokens.write(tokens, transaction, options);
  }

  writeAtOnce(token: StoredToken, lease: Lease): Promise<boolean> {
    return this.#tokens.writeAtOnce(token, lease);
  }

  remove(
    ids: readonly string[],
    transaction: LedgerTransaction,
    options?: ChangeOptions,
  ): Promise<ReadonlyMap<string, SyncError>> {
    return this.#tokens.remove(ids, transaction, options);
  }
}
