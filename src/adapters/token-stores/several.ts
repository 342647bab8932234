import { SyncError } from "../../core/errors.ts";
import type { Secret } from "../../core/secret.ts";
import { laggingIn } from "../../core/token-copies.ts";
import type { LedgerTransaction } from "../../ports/ledger.ts";
import type { RemoveOptions, StoredToken, TokenStore, WriteOptions } from "../../ports/token-store.ts";

type Refusals = ReadonlyMap<string, SyncError>;

/** Tokens in several stores at once: one is stored where all of them have it. */
export class SeveralStores implements TokenStore {
  readonly #stores: readonly TokenStore[];

  /** Those that commit on their own come before one in the ledger's transaction: it may still be rolled back. */
  constructor(stores: readonly TokenStore[]) {
    this.#stores = stores;
  }

  async prepare(): Promise<void> {
    for (const store of this.#stores) await store.prepare();
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
    const refusals = await this.#inTurn((store) => store.write(tokens, transaction, options), options);
    return new Map(
      tokens.flatMap(({ user_group_id: id }) => {
        const errors = refusals.flatMap((refused) => refused.get(id) ?? []);
        const [first] = errors;
        if (first === undefined) return [];
        return [[id, errors.length === this.#stores.length ? first : notEverywhere(first)] as const];
      }),
    );
  }

  /** No single step reaches them all. */
  async writeAtOnce(): Promise<boolean> {
    return false;
  }

  /** As the first store has it that has one. */
  async read(ids: readonly string[]): Promise<ReadonlyMap<string, Secret>> {
    const copies = await Promise.all(this.#stores.map((store) => store.read(ids)));
    return new Map(copies.toReversed().flatMap((copy) => [...copy]));
  }

  async lagging(expected: ReadonlyMap<string, string>): Promise<ReadonlyMap<string, Secret | null>> {
    const ids = [...expected.keys()];
    return laggingIn(expected, await Promise.all(this.#stores.map((store) => store.read(ids))));
  }

  async remove(
    ids: readonly string[],
    transaction: LedgerTransaction,
    options?: RemoveOptions,
  ): Promise<Refusals> {
    const refusals = await this.#inTurn((store) => store.remove(ids, transaction, options), options);
    return new Map(refusals.toReversed().flatMap((refused) => [...refused]));
  }

  /** While the one before was at work, this process may have stood still for long. */
  async #inTurn(
    act: (store: TokenStore) => Promise<Refusals>,
    { assertHeld }: RemoveOptions = {},
  ): Promise<Refusals[]> {
    const refusals: Refusals[] = [];
    for (const store of this.#stores) {
      assertHeld?.();
      refusals.push(await act(store));
    }
    return refusals;
  }
}

const notEverywhere = ({ message, hint }: SyncError): SyncError =>
  new SyncError("TOKEN_NOT_EVERYWHERE", `one store has the token, and another not: ${message}`, {
    ...(hint !== undefined && { hint }),
  });
