import { SyncError } from "./errors.ts";
import type { Failure } from "./outcome.ts";

/**
 * If a store refuses this many tokens for the same reason and takes none, the store is at fault, not the tenants.
 */
const MOST_ALIKE = 10;

/** Tells a token store that takes nothing from one that refuses the tokens of some tenants. For one run. */
export class Refusals {
  /** Ids by reason; undefined once a token was stored. */
  #alike: Map<string, Set<string>> | undefined = new Map();

  /** The store took a token. */
  stored(): void {
    this.#alike = undefined;
  }

  /** The error that the run has to end with; undefined while the refusal may be this tenant's own. */
  refused(user_group_id: string, { code, message }: Failure): SyncError | undefined {
    if (this.#alike === undefined) return undefined;
    const reason = `${code} ${withoutRow(message, user_group_id)}`;
    const ids = this.#alike.get(reason) ?? new Set();
    this.#alike.set(reason, ids.add(user_group_id));
    if (ids.size < MOST_ALIKE) return undefined;
    return new SyncError(
      "TOKEN_STORE_UNAVAILABLE",
      `none of the tokens of this run was stored, and ${ids.size} were refused alike: ${message}`,
      { hint: "mend what the message names; until then, each sync ends before more groups are made" },
    );
  }
}

/** What a reason has in common with those of other rows: neither the id nor a number. */
const withoutRow = (message: string, id: string): string => message.replaceAll(id, "…").replace(/\d+/g, "#");
