import { SyncError } from "../../src/core/failure/sync-error.ts";
import { tokenFingerprint } from "../../src/core/group/group.ts";
import { compareIds } from "../../src/core/group/tenant.ts";
import { Secret } from "../../src/core/secret/secret.ts";
import { isSameMark, type OwnersMark } from "../../src/core/tokens/destination.ts";
import { type LaggingToken, laggingIn, type Refusals } from "../../src/core/tokens/token-copies.ts";
import type { Lease } from "../../src/ports/ledger/lease.ts";
import type { Ledger, LedgerTransaction } from "../../src/ports/ledger/ledger.ts";
import type {
  ChangeOptions,
  OutsideStore,
  StoredToken,
  TokenDestination,
  TokenStore,
  TokenTables,
  WriteOptions,
} from "../../src/ports/token-store.ts";
import type { Step } from "./instance.ts";
import { enlist } from "./ledger/ledger-transaction.ts";

/** The content of a token store, which outlives every process. */
export class TokenState {
  readonly tokens = new Map<string, string>();
  owner: OwnersMark | null = null;
  /** Whether reading and writing marks is refused. */
  isUnmarkable = false;
  /** Whether tokens and ledger are in one database, and so share transactions. */
  sharesLedger = false;
  /** Ids whose tokens the store refuses. */
  readonly refused = new Set<string>();
  /** Ids whose rows make the transaction fail. */
  readonly breaks = new Set<string>();
  /** Ids whose tokens can't be removed. */
  readonly notRemovable = new Set<string>();
}

export class InMemoryTokenStore implements TokenStore, OutsideStore, TokenTables {
  readonly batchSize = 64;
  readonly #state: TokenState;
  readonly #step: Step;
  readonly #ledger: Ledger | undefined;

  /** `ledger`: used if the state says that tokens and ledger share a database. */
  constructor(state: TokenState, step: Step, ledger?: Ledger) {
    this.#state = state;
    this.#step = step;
    this.#ledger = ledger;
  }

  get outside(): OutsideStore | undefined {
    return this.#state.sharesLedger ? undefined : this;
  }

  get tables(): TokenTables | undefined {
    return this.#state.sharesLedger ? this : undefined;
  }

  inspect(): Promise<void> {
    return this.#step({ when: "before", call: "inspectTokens" });
  }

  get destinations(): readonly TokenDestination[] {
    const state = this.#state;
    return [
      {
        title: "the store",
        holdsAny: () => this.#holdsAny(),
        ids: () => this.#ids(),
        owner: async () => {
          await this.#step({ when: "before", call: "tokenOwner" });
          insistOnMarks(state);
          return state.owner;
        },
        claim: async (mark, former) => {
          await this.#step({ when: "before", call: "claimTokens" });
          insistOnMarks(state);
          if (isSameMark(state.owner, former)) state.owner = mark;
          await this.#step({ when: "after", call: "claimTokens" });
          return isSameMark(state.owner, mark);
        },
        giveUp: async (mark) => {
          await this.#step({ when: "before", call: "giveUpTokens" });
          insistOnMarks(state);
          if (isSameMark(state.owner, mark)) state.owner = null;
          await this.#step({ when: "after", call: "giveUpTokens" });
        },
        release: async () => "wipe the mark off",
      },
    ];
  }

  prepare(): Promise<void> {
    return this.#step({ when: "before", call: "prepareTokens" });
  }

  async #holdsAny(): Promise<boolean> {
    await this.#step({ when: "before", call: "holdsAny" });
    return this.#state.tokens.size > 0;
  }

  async *#ids(): AsyncGenerator<readonly string[]> {
    await this.#step({ when: "before", call: "tokenIds" });
    yield [...this.#state.tokens.keys()].sort(compareIds);
  }

  async write(
    tokens: readonly StoredToken[],
    transaction: LedgerTransaction,
    { rewrite = false }: WriteOptions = {},
  ): Promise<Refusals> {
    await this.#step({ when: "before", call: "writeTokens" });
    const all = tokens.map(({ user_group_id }) => user_group_id);
    this.#insistOnTransaction("TOKEN_NOT_STORED", all);
    const unwritten = tokens.filter((token) => this.#refuses(token, rewrite));
    const taken = tokens.filter((token) => !unwritten.includes(token));
    enlist(transaction, () => {
      for (const { user_group_id: id, token } of taken) this.#state.tokens.set(id, token.reveal());
    });
    await this.#step({ when: "after", call: "writeTokens" });
    return new Map(unwritten.map(({ user_group_id }) => [user_group_id, notStored()]));
  }

  async put(
    token: StoredToken,
    { rewrite = false, assertHeld }: ChangeOptions & WriteOptions = {},
  ): Promise<SyncError | undefined> {
    assertHeld?.();
    const { user_group_id: id } = token;
    await this.#step({ when: "before", call: "writeTokens", id });
    if (this.#refuses(token, rewrite)) return notStored();
    this.#state.tokens.set(id, token.token.reveal());
    await this.#step({ when: "after", call: "writeTokens", id });
    return undefined;
  }

  #refuses({ user_group_id: id, token }: StoredToken, rewrite: boolean): boolean {
    const { tokens, refused } = this.#state;
    return refused.has(id) && (rewrite || tokens.get(id) !== token.reveal());
  }

  async writeAtOnce(token: StoredToken, lease: Lease): Promise<boolean> {
    const { user_group_id: id } = token;
    const ledger = this.#ledger;
    if (!ledger || this.#state.refused.has(id)) return false;
    const others = await ledger.sharedTokens(new Map([[id, tokenFingerprint(token.token)]]), "recorded");
    if (others.size > 0) return false;
    const refused = await ledger.write(lease, (transaction) => this.write([token], transaction));
    return refused.size === 0;
  }

  async read(ids: readonly string[]): Promise<ReadonlyMap<string, Secret>> {
    await this.#step({ when: "before", call: "readTokens" });
    const { tokens } = this.#state;
    return new Map(
      ids.flatMap((id) => {
        const token = tokens.get(id);
        return token === undefined ? [] : [[id, new Secret(token)]];
      }),
    );
  }

  async lagging(expected: ReadonlyMap<string, string>): Promise<ReadonlyMap<string, LaggingToken>> {
    return laggingIn(expected, [await this.read([...expected.keys()])]);
  }

  async remove(ids: readonly string[], transaction: LedgerTransaction): Promise<Refusals> {
    await this.#step({ when: "before", call: "removeTokens" });
    this.#insistOnTransaction("TOKEN_NOT_REMOVED", ids);
    const kept = ids.filter((id) => this.#keeps(id));
    enlist(transaction, () => {
      for (const id of ids) if (!kept.includes(id)) this.#state.tokens.delete(id);
    });
    await this.#step({ when: "after", call: "removeTokens" });
    return new Map(kept.map((id) => [id, notRemoved()]));
  }

  async drop(id: string, { assertHeld }: ChangeOptions = {}): Promise<SyncError | undefined> {
    assertHeld?.();
    await this.#step({ when: "before", call: "removeTokens", id });
    if (this.#keeps(id)) return notRemoved();
    this.#state.tokens.delete(id);
    await this.#step({ when: "after", call: "removeTokens", id });
    return undefined;
  }

  #keeps(id: string): boolean {
    return this.#state.notRemovable.has(id) && this.#state.tokens.has(id);
  }

  #insistOnTransaction(code: string, ids: readonly string[]): void {
    if (ids.some((id) => this.#state.breaks.has(id)))
      throw new SyncError(code, "the transaction is gone", HINT);
  }
}

function insistOnMarks({ isUnmarkable }: TokenState): void {
  if (isUnmarkable)
    throw new SyncError("TOKENS_UNMARKED", "the store takes no marks from you", { hint: "ask its keeper" });
}

const HINT = { hint: "make room" };

const notStored = (): SyncError => new SyncError("TOKEN_NOT_STORED", "no room for it", HINT);

const notRemoved = (): SyncError => new SyncError("TOKEN_NOT_REMOVED", "it is stuck", HINT);
