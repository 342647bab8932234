import type { Secret } from "../../core/secret.ts";
import type { SecretNaming } from "../../core/secret-name.ts";

/**
 * A vendor's store of named secrets, as thin as its client allows. Every method rejects with a {@link SecretStoreFailure}
 * whose message holds neither a secret nor a credential.
 */
export interface SecretStore {
  /** What an operator calls it, such as `Vault at https://vault.internal, mount secret`. */
  readonly title: string;
  readonly naming: SecretNaming;
  /** The name of what says whose the store is, where it isn't a secret like the others. */
  readonly owner?: string;
  /** What takes that away, where it takes more than to delete it. */
  release?(): Promise<string>;
  /** Logs in, and sees whether it can be used at all. Called before anything is changed. */
  prepare(): Promise<void>;
  /** Undefined where there is none, or where it is deleted and could still be recovered. */
  get(name: string): Promise<FoundSecret | undefined>;
  /**
   * Makes the secret, or gives the one that groupsync manages another content, unless `isGood` says that the one that it
   * has will do. A secret that is there and isn't managed is refused, and left as it is.
   * `groupId` is for whoever looks at the secret, where the store has a place for it: a name doesn't always show it.
   */
  put(name: string, content: Secret, isGood: (found: Secret) => boolean, groupId?: string): Promise<void>;
  /** Removes it for good, so that the name is free again; what isn't there is removed already. Refuses likewise. */
  remove(name: string): Promise<void>;
  /** Whether it holds any secret that groupsync manages, beside this one. */
  holdsAny(except?: string): Promise<boolean>;
  close(): Promise<void>;
}

export interface FoundSecret {
  readonly content: Secret;
  /** Whether it is marked as this config's. */
  readonly isManaged: boolean;
  /** The config whose mark it bears, as far as it shows. */
  readonly scope?: string | undefined;
}

/**
 * - `unavailable`: the store as a whole can't be used: away, login refused, a right missing.
 * - `throttled`: it asks for patience; all calls wait, and this one is repeated.
 * - `passing`: this call failed, and the next try may not; it alone is repeated.
 * - `refused`: it concerns this secret alone.
 * - `slow`: it takes too long for all that is asked of it together.
 */
export type SecretStoreProblem = "unavailable" | "throttled" | "passing" | "refused" | "slow";

export class SecretStoreFailure extends Error {
  override readonly name = "SecretStoreFailure";
  readonly problem: SecretStoreProblem;
  /** What an operator can do about it. */
  readonly hint: string;
  /** How long the store asked to be left alone, in milliseconds. */
  readonly retryAfterMs: number | undefined;

  constructor(problem: SecretStoreProblem, message: string, hint: string, retryAfterMs?: number) {
    super(message);
    this.problem = problem;
    this.hint = hint;
    this.retryAfterMs = retryAfterMs;
  }

  /** Whether another try may go well. */
  get passes(): boolean {
    return this.problem === "throttled" || this.problem === "passing";
  }
}

/** Of a secret that somebody else has made. */
export const notManaged = (name: string): SecretStoreFailure =>
  new SecretStoreFailure(
    "refused",
    `the secret ${name} is there already, and groupsync doesn't manage it`,
    "remove it, or give tokens.path a name of its own",
  );
