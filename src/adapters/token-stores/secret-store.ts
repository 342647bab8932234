import type { Secret } from "../../core/secret/secret.ts";
import type { SecretNaming } from "../../core/tokens/secrets.ts";

/**
 * A vendor's store of named secrets, as thin as its client allows. Every method rejects with a {@link
 * SecretStoreFailure} whose message holds neither a secret nor a credential.
 */
export interface SecretStore {
  /** What an operator calls it, such as `Vault at https://vault.internal, mount secret`. */
  readonly title: string;
  readonly naming: SecretNaming;
  /** The name of the owner mark, if the store keeps it apart from the secrets. */
  readonly owner?: string;
  /** The command that removes the owner mark, if it takes more than to delete the secret. */
  release?(): Promise<string>;
  /** Rejects if the store can't be used, as far as the lookup of a secret doesn't show that. Changes nothing. */
  inspect(): Promise<void>;
  /** Makes what the store needs before the first secret. */
  prepare?(): Promise<void>;
  /** Undefined if there is no such secret, or if it is deleted but could still be recovered. */
  get(name: string): Promise<FoundSecret | undefined>;
  /**
   * Creates the secret, or replaces the content of a secret that groupsync manages, unless `isGood` accepts the present
   * content. Refuses a secret that groupsync doesn't manage, and leaves it as it is. A store with a place for notes
   * keeps `groupId` there, for people: a secret's name doesn't always show the group's id.
   */
  put(name: string, content: Secret, isGood: (found: Secret) => boolean, groupId?: string): Promise<void>;
  /** Removes the secret for good: its name is free afterwards. Succeeds if there is none. Refuses as `put` does. */
  remove(name: string): Promise<void>;
  close(): Promise<void>;
}

export interface FoundSecret {
  readonly content: Secret;
  /** Whether the secret is marked as this config's. */
  readonly isManaged: boolean;
  /** The config that the secret's tags name, if they can be read. */
  readonly scope?: string | undefined;
}

/**
 * - `unavailable`: the store can't be reached, the login was refused, or a right is missing. The owner's mark tells whether
 *   this concerns the whole store or this secret alone.
 * - `throttled`: the store is over its limit. All calls wait, and this call is retried.
 * - `passing`: this call failed, but a retry may succeed. Only this call is retried.
 * - `refused`: the failure concerns this secret alone.
 */
export type SecretStoreProblem = "unavailable" | "throttled" | "passing" | "refused";

export class SecretStoreFailure extends Error {
  override readonly name = "SecretStoreFailure";
  readonly problem: SecretStoreProblem;
  /** What an operator can do about it. */
  readonly hint: string;
  /** The wait that the store asked for, in milliseconds. */
  readonly retryAfterMs: number | undefined;

  constructor(problem: SecretStoreProblem, message: string, hint: string, retryAfterMs?: number) {
    super(message);
    this.problem = problem;
    this.hint = hint;
    this.retryAfterMs = retryAfterMs;
  }

  /** Whether a retry may succeed. */
  get passes(): boolean {
    return this.problem === "throttled" || this.problem === "passing";
  }
}

/** The failure for a secret that somebody else has made. */
export const notManaged = (name: string): SecretStoreFailure =>
  new SecretStoreFailure(
    "refused",
    `the secret ${name} is there already, and groupsync doesn't manage it`,
    "remove it, or give tokens.path a name of its own",
  );

/** The tags, labels or metadata that mark a secret as managed by this config. */
export type ManagedTags = Readonly<Record<string, string>>;

export const SCOPE_MARK = "groupsync-name";

export const managedTags = (scope: string): ManagedTags => ({
  "managed-by": "groupsync",
  [SCOPE_MARK]: scope,
});

/** Whether a secret has all of the marks. It may have other tags, too. */
export const hasTags = (
  found: Readonly<Record<string, unknown>> | null | undefined,
  marks: ManagedTags,
): boolean => Object.entries(marks).every(([mark, value]) => found?.[mark] === value);

/** The name of the config that manages the secret; undefined if it isn't groupsync's. */
export const scopeIn = (found: Readonly<Record<string, unknown>> | null | undefined): string | undefined => {
  const scope = found?.[SCOPE_MARK];
  return typeof scope === "string" ? scope : undefined;
};
