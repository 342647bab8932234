import type { Failure } from "../../core/failure/sync-error.ts";
import { intendsRemoval } from "../../core/group/ledger-group.ts";
import type { KnownToken } from "../../ports/ledger/groups.ts";

/**
 * Why a group can't be rotated before a sync has settled another change of the group; undefined if it can. `reason` says
 * why that change could not be settled.
 */
export function whyUnsettled(
  known: KnownToken | undefined,
  reason: Failure | undefined,
): Failure | undefined {
  if (known === undefined) return undefined;
  const mayNotExist = known.intent === "apply" && known.tokenFingerprint === null;
  if (!mayNotExist && !intendsRemoval(known.intent)) return undefined;
  return {
    code: "UNSETTLED",
    message: `an earlier run left another change of this group under way, and a sync has to settle it first${reason ? `: ${reason.message}` : ""}`,
  };
}

export const UNASKABLE: Failure = {
  code: "UNSETTLED",
  message:
    "the live token of this group isn't stored, and asking the service for it could change the group, because only the group's name at the service is known; a sync asks for it",
};

/** The failure of a group that a sync left under way and can't settle by a GET. */
export const NOT_ASKED: Failure = {
  code: "UNSETTLED",
  message:
    "an earlier run left a change of this group under way, so its token may not be stored; a GET could change the group, because its full state is not known, and its row is rejected or gone: correct the row, or have the group deleted",
};

export const FORGOTTEN: Failure = { code: "UNKNOWN_ID", message: "the ledger has no such group any more" };

/** The failure of a rotation that doesn't begin, because another group's new token waits to be stored. */
export const NOT_BEGUN: Failure = {
  code: "NOT_ROTATED",
  message:
    "the rotation did not begin, because another group's new token could not be stored; the token of this group is unchanged",
};

export const newTokenNotStored = ({ message }: Failure): Failure => ({
  code: "NEW_TOKEN_NOT_STORED",
  message: `the old token is dead, and the new one could not be stored: ${message}; the next sync asks for it and stores it`,
});
