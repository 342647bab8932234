import { SyncError } from "../../core/failure/sync-error.ts";
import type { Secret } from "../../core/secret/secret.ts";
import { type LaggingToken, laggingIn } from "../../core/tokens/token-copies.ts";
import type { Lease } from "../../ports/ledger/lease.ts";
import type { LedgerTransaction } from "../../ports/ledger/ledger.ts";
import type {
  ChangeOptions,
  StoredToken,
  TokenDestination,
  TokenStore,
  WriteOptions,
} from "../../ports/token-store.ts";

type RefusedByStore = ReadonlyMap<string, SyncError>;
type Result = PromiseSettledResult<RefusedByStore>;

/** Several token stores used as one. A token counts as stored only if all of them have it. */
export class CompositeTokenStore implements TokenStore {
  readonly #stores: readonly TokenStore[];
  readonly #tables: readonly TokenStore[];
  readonly #others: readonly TokenStore[];

  /**
   * Tables may share the ledger's transaction, so they are written one after the other. `others` are written at the
   * same time.
   */
  constructor(others: readonly TokenStore[], tables: readonly TokenStore[]) {
    this.#others = others;
    this.#tables = tables;
    this.#stores = [...others, ...tables];
  }

  get destinations(): readonly TokenDestination[] {
    return this.#stores.flatMap(({ destinations }) => destinations);
  }

  get batchSize(): number {
    return Math.min(...this.#stores.map((store) => store.batchSize));
  }

  async prepare(signal?: AbortSignal): Promise<void> {
    for (const store of this.#stores) await store.prepare(signal);
  }

  async inspect(): Promise<void> {
    for (const store of this.#stores) await store.inspect();
  }

  async write(
    tokens: readonly StoredToken[],
    transaction: LedgerTransaction,
    options?: WriteOptions,
  ): Promise<RefusedByStore> {
    const results = await this.#all((store) => store.write(tokens, transaction, options));
    const refusals = results.map((result) => {
      if (result.status === "fulfilled") return result.value;
      const { reason } = result;
      if (!options?.asFarAsPossible || !isUnavailable(reason)) throw reason;
      return new Map(tokens.map(({ user_group_id }) => [user_group_id, reason]));
    });
    return new Map(
      tokens.flatMap(({ user_group_id: id }) => {
        const errors = refusals.flatMap((refused) => refused.get(id) ?? []);
        const [first] = errors;
        if (first === undefined) return [];
        return [[id, errors.length === this.#stores.length ? first : notEverywhere(first)] as const];
      }),
    );
  }

  /** A store that fails doesn't keep the token from the other stores. */
  async writeAtOnce(token: StoredToken, lease: Lease): Promise<boolean> {
    const written = this.#stores.map((store) => store.writeAtOnce(token, lease));
    const results = await Promise.allSettled(written);
    return results.every((result) => result.status === "fulfilled" && result.value);
  }

  /** Each token comes from the first store that has it. */
  async read(ids: readonly string[], signal?: AbortSignal): Promise<ReadonlyMap<string, Secret>> {
    const copies = await Promise.all(this.#stores.map((store) => store.read(ids, signal)));
    return new Map(copies.toReversed().flatMap((copy) => [...copy]));
  }

  async lagging(
    expected: ReadonlyMap<string, string>,
    signal?: AbortSignal,
  ): Promise<ReadonlyMap<string, LaggingToken>> {
    const ids = [...expected.keys()];
    return laggingIn(expected, await Promise.all(this.#stores.map((store) => store.read(ids, signal))));
  }

  async remove(
    ids: readonly string[],
    transaction: LedgerTransaction,
    options?: ChangeOptions,
  ): Promise<RefusedByStore> {
    const results = await this.#all((store) => store.remove(ids, transaction, options));
    const refusals = results.map((result) => {
      if (result.status === "rejected") throw result.reason;
      return result.value;
    });
    return new Map(refusals.toReversed().flatMap((refused) => [...refused]));
  }

  /** Waits for every store, even if one fails: no store may still be at work in a transaction that is over. */
  async #all(act: (store: TokenStore) => Promise<RefusedByStore>): Promise<readonly Result[]> {
    const atOnce = Promise.allSettled(this.#others.map(act));
    const inTurn: Result[] = [];
    for (const table of this.#tables) inTurn.push(...(await Promise.allSettled([act(table)])));
    return [...(await atOnce), ...inTurn];
  }
}

const isUnavailable = (error: unknown): error is SyncError =>
  error instanceof SyncError && error.code.startsWith("TOKEN_STORE_");

const notEverywhere = ({ message, hint }: SyncError): SyncError =>
  new SyncError("TOKEN_NOT_EVERYWHERE", `one store has the token, and another not: ${message}`, {
    ...(hint !== undefined && { hint }),
  });
