import { interrupted, SyncError } from "../../core/failure/sync-error.ts";
import type { Secret } from "../../core/secret/secret.ts";
import {
  formatToken,
  type SecretPath,
  secretName,
  type TokenFormat,
  tokenIn,
} from "../../core/tokens/secrets.ts";
import { type LaggingToken, laggingIn } from "../../core/tokens/token-copies.ts";
import type { Clock } from "../../ports/clock.ts";
import type { LedgerTransaction } from "../../ports/ledger/ledger.ts";
import type {
  ChangeOptions,
  StoredToken,
  TokenDestination,
  TokenStore,
  WriteOptions,
} from "../../ports/token-store.ts";
import { SecretOwnerMark } from "./secret-owner-mark.ts";
import { type FoundSecret, type SecretStore, SecretStoreFailure } from "./secret-store.ts";
import { CONCURRENCY, inParallel, StoreRetries } from "./store-retries.ts";

interface SecretTokenOptions {
  readonly path: SecretPath;
  readonly format: TokenFormat;
}

/** Keeps tokens in a secret store, one secret for each group. */
export class SecretTokenStore implements TokenStore {
  /** Few, because each token costs a call. */
  readonly batchSize = 64;
  readonly #secrets: SecretStore;
  readonly #options: SecretTokenOptions;
  readonly #clock: Clock;
  readonly #retries: StoreRetries;
  readonly #owner: SecretOwnerMark;

  constructor(secrets: SecretStore, options: SecretTokenOptions, clock: Clock) {
    this.#secrets = secrets;
    this.#options = options;
    this.#clock = clock;
    this.#retries = new StoreRetries(clock);
    this.#owner = new SecretOwnerMark(secrets, options.path);
  }

  get destinations(): readonly TokenDestination[] {
    const secrets = this.#secrets;
    const { name } = this.#owner;
    const [before, after] = this.#options.path;
    return [
      {
        // A store with its own place for the owner mark belongs to one config as a whole: the path adds nothing.
        title: secrets.owner ? secrets.title : `the secrets ${before}…${after} of ${secrets.title}`,
        holdsAny: (expected) => this.#holdsAny(expected),
        ids: () => null,
        owner: () => this.#try("read", () => this.#owner.read()),
        claim: (mark, former) => this.#try("write", () => this.#owner.write(mark, former)),
        giveUp: (mark) => this.#try("write", () => this.#owner.giveUp(mark)),
        release: () =>
          this.#usable("read", async () => (await secrets.release?.()) ?? `delete the secret ${name}`),
      },
    ];
  }

  /** Looks the owner's mark up, which shows whether the login works. Only a write shows whether secrets can be written. */
  inspect(signal?: AbortSignal): Promise<void> {
    const inspect = async (): Promise<void> => {
      await this.#secrets.inspect?.();
      await this.#owner.read();
    };
    return this.#try("use", inspect, signal);
  }

  async prepare(signal?: AbortSignal): Promise<void> {
    await this.inspect(signal);
    await this.#try("use", async () => this.#secrets.prepare?.(), signal);
  }

  /**
   * Goes by the owner's mark, because many stores list their secrets slowly, or not without another right. The mark gets its
   * team before the first token is written. The mark may outlive the secrets, so reads one that is expected, and a few more
   * only if that one is missing.
   */
  async #holdsAny([first, ...others]: readonly string[] = []): Promise<boolean> {
    const mark = await this.#try("read", () => this.#owner.read());
    if (mark === null || mark.teamId === null) return false;
    if (first === undefined || (await this.read([first])).size > 0) return true;
    return (await this.read(others.slice(0, CONCURRENCY))).size > 0;
  }

  async write(
    tokens: readonly StoredToken[],
    _transaction: LedgerTransaction,
    { rewrite = false, ...options }: WriteOptions = {},
  ): Promise<ReadonlyMap<string, SyncError>> {
    const wanted = new Map(tokens.map(({ user_group_id, token }) => [user_group_id, token]));
    return this.#each([...wanted], "TOKEN_NOT_STORED", options, ([id, token], name) => {
      const content = formatToken(this.#options.format, id, token, this.#clock.now());
      // Don't write equal content again: stores keep every version, and charge for it.
      const isGood = (found: Secret): boolean =>
        !rewrite && (this.#tokenIn(found, id)?.equals(token) ?? false);
      return this.#secrets.put(name, content, isGood, id);
    });
  }

  /** Always false: a secret store can't check the lease in the same step as the write. */
  async writeAtOnce(): Promise<boolean> {
    return false;
  }

  async read(ids: readonly string[], signal?: AbortSignal): Promise<ReadonlyMap<string, Secret>> {
    const found = new Map<string, Secret>();
    const ofOneSecret = this.#judge(async () => (await this.#owner.read()) !== null, signal);
    const find = async (id: string): Promise<void> => {
      if (signal?.aborted) throw interrupted();
      let sentAt = 0;
      const get = (): Promise<FoundSecret | undefined> => {
        sentAt = ofOneSecret.moment();
        return this.#secrets.get(this.#nameOf(id));
      };
      // A secret that can't be read counts as missing: the attempt to write it then reports what is wrong.
      const secret = await this.#retries
        .with(get, { signal })
        .catch(async (error: unknown) => void (await ofOneSecret.judge(error, sentAt)));
      const token = secret?.isManaged ? this.#tokenIn(secret.content, id) : undefined;
      if (token) found.set(id, token);
    };
    await this.#usable("read", () => inParallel([...new Set(ids)], CONCURRENCY, find));
    return found;
  }

  async lagging(
    expected: ReadonlyMap<string, string>,
    signal?: AbortSignal,
  ): Promise<ReadonlyMap<string, LaggingToken>> {
    return laggingIn(expected, [await this.read([...expected.keys()], signal)]);
  }

  remove(
    ids: readonly string[],
    _transaction: LedgerTransaction,
    options: ChangeOptions = {},
  ): Promise<ReadonlyMap<string, SyncError>> {
    const entries = [...new Set(ids)].map((id) => [id] as const);
    return this.#each(entries, "TOKEN_NOT_REMOVED", options, (_, name) => this.#secrets.remove(name));
  }

  #nameOf(id: string): string {
    return secretName(id, this.#options.path, this.#secrets.naming);
  }

  #tokenIn(content: Secret, id: string): Secret | undefined {
    return tokenIn(this.#options.format, id, content);
  }

  /** Resolves to the errors of the secrets that the store refused to change, by id. */
  async #each<Entry extends readonly [id: string, ...unknown[]]>(
    entries: readonly Entry[],
    code: string,
    { assertHeld = () => {}, signal }: ChangeOptions,
    change: (entry: Entry, name: string) => Promise<void>,
  ): Promise<ReadonlyMap<string, SyncError>> {
    const refused = new Map<string, SyncError>();
    const begun = this.#clock.monotonic();
    const ofOneSecret = this.#judge(() => this.#owner.rewrite(), signal, assertHeld);
    const changeOne = async (entry: Entry): Promise<void> => {
      const [id] = entry;
      const name = this.#nameOf(id);
      let sentAt = 0;
      const attempt = async (): Promise<void> => {
        assertHeld();
        sentAt = ofOneSecret.moment();
        await change(entry, name);
      };
      try {
        await this.#retries.with(attempt, { begun, signal });
      } catch (error) {
        const { message, hint } = await ofOneSecret.judge(error, sentAt, name);
        refused.set(id, new SyncError(code, `${this.#secrets.title}: ${message}`, { hint }));
      }
    };
    await this.#usable("write", () => inParallel(entries, CONCURRENCY, changeOne));
    // In the order of `entries`, whichever call ended first.
    return new Map(
      entries.flatMap(([id]) => {
        const error = refused.get(id);
        return error ? [[id, error] as const] : [];
      }),
    );
  }

  /**
   * Returns a failure that concerns one secret alone, and throws any other. Most stores refuse a lost login and one secret
   * in the same words, and one secret may fail in a way that nobody has foreseen. The owner's mark tells them apart: a
   * store that takes the mark works. Asks for the mark without a retry, because a transaction may be open. An answer counts for the
   * calls that were sent before it was asked for: the login may be lost since.
   */
  #judge(takesMark: () => Promise<boolean>, signal: AbortSignal | undefined, assertHeld = () => {}) {
    let now = 0;
    let askedAt = -1;
    let isWell: Promise<boolean> | undefined;
    const judge = async (error: unknown, sentAt: number, name = ""): Promise<SecretStoreFailure> => {
      if (error instanceof SyncError) throw error;
      const failure = error instanceof SecretStoreFailure ? error : unforeseen(error);
      const { problem, message, hint } = failure;
      if (problem === "refused") return failure;
      const isGivenUp = problem === "passing" && signal?.aborted;
      if (problem === "throttled" || problem === "slow" || isGivenUp) throw failure;
      assertHeld();
      if (isWell === undefined || sentAt > askedAt) {
        askedAt = ++now;
        isWell = takesMark().catch(() => false);
      }
      if (!(await isWell)) throw failure;
      // The same words for each secret, as long as the store says the same: ten alike without a success are an outage.
      const what = `its secret can't be changed, and the owner's mark can: ${name === "" ? message : message.replaceAll(name, "…")}`;
      return new SecretStoreFailure("refused", what, `${hint}; the secret is ${name}`);
    };
    return { judge, moment: () => ++now };
  }

  #try<T>(doing: string, call: () => Promise<T>, signal?: AbortSignal): Promise<T> {
    return this.#usable(doing, () => this.#retries.with(call, { signal }));
  }

  async #usable<T>(doing: string, work: () => Promise<T>): Promise<T> {
    try {
      return await work();
    } catch (error) {
      if (error instanceof SyncError) throw error;
      const { problem, message, hint } = error instanceof SecretStoreFailure ? error : unforeseen(error);
      const what = `cannot ${doing} ${this.#secrets.title}: ${message}`;
      if (problem === "throttled") throw new SyncError("TOKEN_STORE_BUSY", what, { hint });
      if (problem === "slow") throw new SyncError("TOKEN_STORE_SLOW", what, { hint });
      throw new SyncError("TOKEN_STORE_UNAVAILABLE", what, { hint });
    }
  }
}

/** An unknown error may quote a token: only its name is told. */
const unforeseen = (error: unknown): SecretStoreFailure =>
  new SecretStoreFailure(
    "unavailable",
    `${error instanceof Error ? error.name : typeof error}, which nobody has foreseen`,
    "please report it: its text is left out, for it may hold a token",
  );
