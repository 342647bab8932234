import type { Failure } from "../core/outcome.ts";

/** `reason`: why it could not be settled. */
export const unsettled = (reason: Failure | undefined): Failure => ({
  code: "UNSETTLED",
  message: `an earlier run left another change of this group under way, and a sync has to settle it first${reason ? `: ${reason.message}` : ""}`,
});

export const UNASKABLE: Failure = {
  code: "UNSETTLED",
  message:
    "its live token isn't stored, and to ask for it could change the group, of which the service has shown the name alone: a sync asks for it",
};

/** Of a group that a sync has left under way, and that it can't settle by a GET either. */
export const NOT_ASKED: Failure = {
  code: "UNSETTLED",
  message:
    "an earlier run left a change of this group under way, so its token may not be stored; a GET could change the group, because its full state is not known, and its row is rejected or gone: correct the row, or have the group deleted",
};

export const FORGOTTEN: Failure = { code: "UNKNOWN_ID", message: "the ledger has no such group any more" };

/** Of a rotation that is not begun, for a new token of another group waits to be stored. */
export const NOT_BEGUN: Failure = {
  code: "NOT_ROTATED",
  message:
    "no rotation is begun any more, because another group's new token could not be stored; its token is as it was",
};

export const newTokenNotStored = ({ message }: Failure): Failure => ({
  code: "NEW_TOKEN_NOT_STORED",
  message: `the old token is dead, and the new one could not be stored: ${message}; the next sync asks for it and stores it`,
});
