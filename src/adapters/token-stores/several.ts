import { SyncError } from "../../core/errors.ts";
import type { Secret } from "../../core/secret.ts";
import { laggingIn } from "../../core/token-copies.ts";
import type { Lease } from "../../ports/lease.ts";
import type { Ledger, LedgerTransaction } from "../../ports/ledger.ts";
import type {
  ChangeOptions,
  StoredToken,
  TokenDestination,
  TokenStore,
  WriteOptions,
} from "../../ports/token-store.ts";

type Refusals = ReadonlyMap<string, SyncError>;
type Result = PromiseSettledResult<Refusals>;

/** Tokens in several stores at once: one is stored where all of them have it. */
export class SeveralStores implements TokenStore {
  readonly #stores: readonly TokenStore[];
  readonly #tables: readonly TokenStore[];
  readonly #others: readonly TokenStore[];

  /** The tables may share the ledger's transaction, and take turns in it; the other stores are written at once. */
  constructor(others: readonly TokenStore[], tables: readonly TokenStore[]) {
    this.#others = others;
    this.#tables = tables;
    this.#stores = [...others, ...tables];
  }

  get destinations(): readonly TokenDestination[] {
    return this.#stores.flatMap(({ destinations }) => destinations);
  }

  async prepare(signal?: AbortSignal): Promise<void> {
    for (const store of this.#stores) await store.prepare(signal);
  }

  async inspect(): Promise<void> {
    for (const store of this.#stores) await store.inspect();
  }

  async holdsAny(): Promise<boolean> {
    for (const store of this.#stores) if (await store.holdsAny()) return true;
    return false;
  }

  async write(
    tokens: readonly StoredToken[],
    transaction: LedgerTransaction,
    options?: WriteOptions,
  ): Promise<Refusals> {
    const results = await this.#all((store) => store.write(tokens, transaction, options));
    const refusals = results.map((result) => {
      if (result.status === "fulfilled") return result.value;
      const { reason } = result;
      if (!options?.asFarAsPossible || !isAway(reason)) throw reason;
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

  /** Those that can do so have it then, whatever becomes of the others. */
  async writeAtOnce(token: StoredToken, ledger: Ledger, lease: Lease): Promise<boolean> {
    const written = this.#stores.map((store) => store.writeAtOnce(token, ledger, lease));
    const results = await Promise.allSettled(written);
    return results.every((result) => result.status === "fulfilled" && result.value);
  }

  /** As the first store has it that has one. */
  async read(ids: readonly string[], signal?: AbortSignal): Promise<ReadonlyMap<string, Secret>> {
    const copies = await Promise.all(this.#stores.map((store) => store.read(ids, signal)));
    return new Map(copies.toReversed().flatMap((copy) => [...copy]));
  }

  async lagging(
    expected: ReadonlyMap<string, string>,
    signal?: AbortSignal,
  ): Promise<ReadonlyMap<string, Secret | null>> {
    const ids = [...expected.keys()];
    return laggingIn(expected, await Promise.all(this.#stores.map((store) => store.read(ids, signal))));
  }

  async remove(
    ids: readonly string[],
    transaction: LedgerTransaction,
    options?: ChangeOptions,
  ): Promise<Refusals> {
    const results = await this.#all((store) => store.remove(ids, transaction, options));
    const refusals = results.map((result) => {
      if (result.status === "rejected") throw result.reason;
      return result.value;
    });
    return new Map(refusals.toReversed().flatMap((refused) => [...refused]));
  }

  /** Ends once all of them have: none may still be at work in a transaction that is over. */
  async #all(act: (store: TokenStore) => Promise<Refusals>): Promise<readonly Result[]> {
    const inTurn = async (): Promise<readonly Result[]> => {
      const results: Result[] = [];
      for (const table of this.#tables) results.push(...(await Promise.allSettled([act(table)])));
      return results;
    };
    const atOnce = Promise.allSettled(this.#others.map(act));
    const tables = await inTurn();
    return [...(await atOnce), ...tables];
  }
}

const isAway = (error: unknown): error is SyncError =>
  error instanceof SyncError && error.code.startsWith("TOKEN_STORE_");

const notEverywhere = ({ message, hint }: SyncError): SyncError =>
  new SyncError("TOKEN_NOT_EVERYWHERE", `one store has the token, and another not: ${message}`, {
    ...(hint !== undefined && { hint }),
  });
