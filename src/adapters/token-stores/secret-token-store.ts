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
import type { Observe } from "../../ports/observer.ts";
import type {
  ChangeOptions,
  OutsideStore,
  StoredToken,
  TokenDestination,
  TokenStore,
  WriteOptions,
} from "../../ports/token-store.ts";
import { type SecretOwnerMark, secretOwnerMark } from "./secret-owner-mark.ts";
import { type SecretStore, SecretStoreFailure } from "./secret-store.ts";
import { CONCURRENCY, inParallel, StoreRetries } from "./store-retries.ts";

interface SecretTokenOptions {
  readonly path: SecretPath;
  readonly format: TokenFormat;
}

/** How long a store is waited for before any token is written, in milliseconds. */
const LONGEST_WAIT_AT_FIRST = 30_000;

/** Keeps tokens in a secret store, one secret for each group. */
export class SecretTokenStore implements TokenStore, OutsideStore {
  readonly outside = this;
  readonly #secrets: SecretStore;
  readonly #options: SecretTokenOptions;
  readonly #clock: Clock;
  readonly #retries: StoreRetries;
  readonly #owner: SecretOwnerMark;
  readonly #read: StoreHealth;
  readonly #write: StoreHealth;

  constructor(secrets: SecretStore, options: SecretTokenOptions, clock: Clock, observe?: Observe) {
    this.#secrets = secrets;
    this.#options = options;
    this.#clock = clock;
    this.#retries = new StoreRetries(clock, observe);
    this.#owner = secretOwnerMark(secrets, options.path);
    this.#read = new StoreHealth(async () => (await this.#owner.read()) !== null);
    this.#write = new StoreHealth(() => this.#owner.rewrite());
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
      await this.#secrets.inspect();
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

  put(
    { user_group_id: id, token }: StoredToken,
    { rewrite = false, ...options }: ChangeOptions & WriteOptions = {},
  ): Promise<SyncError | undefined> {
    const content = formatToken(this.#options.format, id, token, this.#clock.now());
    // Don't write equal content again: stores keep every version, and charge for it.
    const isGood = (found: Secret): boolean => !rewrite && (this.#tokenIn(found, id)?.equals(token) ?? false);
    return this.#change(id, "TOKEN_NOT_STORED", options, (name) =>
      this.#secrets.put(name, content, isGood, id),
    );
  }

  drop(id: string, options: ChangeOptions = {}): Promise<SyncError | undefined> {
    return this.#change(id, "TOKEN_NOT_REMOVED", options, (name) => this.#secrets.remove(name));
  }

  async read(ids: readonly string[], signal?: AbortSignal): Promise<ReadonlyMap<string, Secret>> {
    const found = new Map<string, Secret>();
    const find = async (id: string): Promise<void> => {
      if (signal?.aborted) throw interrupted();
      const name = this.#nameOf(id);
      // A secret that can't be read counts as missing: the attempt to write it then reports what is wrong.
      const secret = await this.#call(name, this.#read, () => this.#secrets.get(name), { signal });
      if (secret instanceof SecretStoreFailure) return;
      const token = secret?.isManaged ? this.#tokenIn(secret.content, id) : undefined;
      if (token) found.set(id, token);
    };
    await this.#usable("read", () => inParallel([...new Set(ids)], CONCURRENCY, find), signal);
    return found;
  }

  async lagging(
    expected: ReadonlyMap<string, string>,
    signal?: AbortSignal,
  ): Promise<ReadonlyMap<string, LaggingToken>> {
    return laggingIn(expected, [await this.read([...expected.keys()], signal)]);
  }

  #nameOf(id: string): string {
    return secretName(id, this.#options.path, this.#secrets.naming);
  }

  #tokenIn(content: Secret, id: string): Secret | undefined {
    return tokenIn(this.#options.format, id, content);
  }

  /** Resolves to the error if the store refuses to change this secret. */
  async #change(
    id: string,
    code: string,
    options: ChangeOptions,
    change: (name: string) => Promise<void>,
  ): Promise<SyncError | undefined> {
    const name = this.#nameOf(id);
    const call = () => this.#call(name, this.#write, () => change(name), options);
    const failure = await this.#usable("write", call, options.signal);
    if (!failure) return undefined;
    const { message, hint } = failure;
    return new SyncError(code, `${this.#secrets.title}: ${message}`, { hint });
  }

  /** Resolves to the failure if it concerns this secret alone. */
  async #call<T>(
    name: string,
    health: StoreHealth,
    call: () => Promise<T>,
    { signal, assertHeld }: ChangeOptions,
  ): Promise<T | SecretStoreFailure> {
    const askedAt = health.moment();
    let sentAt = askedAt;
    const attempt = (): Promise<T> => {
      assertHeld?.();
      health.insistSince(askedAt);
      sentAt = health.moment();
      return call();
    };
    return this.#retries.with(attempt, { signal }).catch((error: unknown) => {
      if (error instanceof SyncError) throw error;
      const failure = error instanceof SecretStoreFailure ? error : unforeseen(error);
      if (signal?.aborted && failure.passes) throw failure;
      assertHeld?.();
      return health.ofOneSecret(failure, sentAt, name);
    });
  }

  #try<T>(doing: string, call: () => Promise<T>, signal?: AbortSignal): Promise<T> {
    const options = { signal, longestWait: LONGEST_WAIT_AT_FIRST };
    return this.#usable(doing, () => this.#retries.with(call, options));
  }

  async #usable<T>(doing: string, work: () => Promise<T>, signal?: AbortSignal): Promise<T> {
    try {
      return await work();
    } catch (error) {
      if (error instanceof SyncError) throw error;
      const { problem, message, hint } = error instanceof SecretStoreFailure ? error : unforeseen(error);
      if (problem === "throttled" && signal?.aborted) throw interrupted();
      throw new SyncError("TOKEN_STORE_UNAVAILABLE", `cannot ${doing} ${this.#secrets.title}: ${message}`, {
        hint,
      });
    }
  }
}

/**
 * Tells a failure that concerns one secret from an outage. Most stores refuse a lost login and one secret in the same words, and
 * one secret may fail in a way that nobody has foreseen. The owner's mark tells them apart: a store that takes the mark works.
 * Moments are numbers that grow.
 */
class StoreHealth {
  readonly #takesMark: () => Promise<boolean>;
  #now = 0;
  /** When the store was asked last whether it takes the mark, and its answer. */
  #askedAt = -1;
  #isWell: Promise<boolean> | undefined;
  #outage: { readonly at: number; readonly failure: SecretStoreFailure } | undefined;

  constructor(takesMark: () => Promise<boolean>) {
    this.#takesMark = takesMark;
  }

  moment(): number {
    return ++this.#now;
  }

  /** Throws the failure of an outage that was found since then: calls that waited for their turn need not find it again. */
  insistSince(moment: number): void {
    if (this.#outage && this.#outage.at > moment) throw this.#outage.failure;
  }

  /**
   * Returns the failure if it concerns its secret alone, and throws it otherwise. An answer of the store counts for the calls that were
   * sent before the store was asked: the login may be lost since. `sentAt`: when the last attempt was sent.
   */
  async ofOneSecret(failure: SecretStoreFailure, sentAt: number, name: string): Promise<SecretStoreFailure> {
    const { problem, message, hint } = failure;
    if (problem === "refused") return failure;
    if (problem === "throttled") throw failure;
    if (this.#isWell === undefined || sentAt > this.#askedAt) {
      this.#askedAt = this.moment();
      this.#isWell = this.#takesMark().catch(() => false);
    }
    if (!(await this.#isWell)) {
      this.#outage = { at: this.moment(), failure: new SecretStoreFailure("unavailable", message, hint) };
      throw failure;
    }
    this.#outage = undefined;
    // The same words for each secret, as long as the store says the same: ten alike without a success are an outage.
    const what = `its secret can't be changed, and the owner's mark can: ${message.replaceAll(name, "…")}`;
    return new SecretStoreFailure("refused", what, `${hint}; the secret is ${name}`);
  }
}

/** An unknown error may quote a token: only its name is told. */
const unforeseen = (error: unknown): SecretStoreFailure =>
  new SecretStoreFailure(
    "unavailable",
    `${error instanceof Error ? error.name : typeof error}, which nobody has foreseen`,
    "please report it: its text is left out, for it may hold a token",
  );
