import { type Failure, SyncError } from "../failure/sync-error.ts";

/**
 * If a store takes no token and refuses this many for the same reason, the cause is the store and not the tenants.
 */
const MOST_ALIKE = 10;

/** Detects, in one run, that a token store takes no token at all, as opposed to refusing the tokens of some tenants. */
export class StoreOutageDetector {
  /** Reason → the ids refused for it; undefined once a token was stored. */
  #alike: Map<string, Set<string>> | undefined = new Map();

  stored(): void {
    this.#alike = undefined;
  }

  /** The store refused a token. Returns the error that ends the run; undefined if only this tenant may be affected. */
  refused(user_group_id: string, { code, message }: Failure): SyncError | undefined {
    if (this.#alike === undefined) return undefined;
    const reason = `${code} ${withoutRow(message, user_group_id)}`;
    const ids = this.#alike.get(reason) ?? new Set();
    this.#alike.set(reason, ids.add(user_group_id));
    if (ids.size < MOST_ALIKE) return undefined;
    return new SyncError(
      "TOKEN_STORE_UNAVAILABLE",
      `none of the tokens of this run was stored, and ${ids.size} were refused alike: ${message}`,
      { hint: "fix what the message names; until then each sync ends before it creates more groups" },
    );
  }
}

/** The message without the id and without numbers: then the same reason gives the same text for every tenant. */
const withoutRow = (message: string, id: string): string => message.replaceAll(id, "…").replace(/\d+/g, "#");
