import { ABSENCE_TEXT, GONE_TEXT, missingText } from "../../core/deletion/missing-tenants.ts";
import type { RecordedFailure } from "../../core/failure/group-failures.ts";
import { remedyOf } from "../../core/failure/remedies.ts";
import { type Change, isForToken, isRemoval } from "../../core/plan/change.ts";
import { shellWord, type Told } from "../../core/text/printable.ts";
import { adviceOnKeptGroups } from "../plan/make-plan.ts";
import type { ExplainedTenant } from "./explain-tenant.ts";

export type State =
  | "in_sync"
  | "new"
  | "changed"
  | "outdated"
  | "rejected"
  | "not_ready"
  | "missing"
  | "deletion_due"
  | "held"
  | "under_way"
  | "failing"
  | "token_not_stored"
  | "store_unreadable"
  | "rotation_failing"
  | "gone";

/** How a tenant stands, for an operator. */
interface Standing {
  readonly state: State;
  /** A sentence without its end. */
  readonly reason: Told;
  /** What the operator can do, beside the command or before it; null if there is nothing. */
  readonly advice: string | null;
  /** The one command that helps; null if none does, or none is needed. */
  readonly command: string | null;
}

/** Says how the tenant stands: the planned action decides, and then what has failed or is missing beside it. */
export function standingOf(explained: ExplainedTenant): Standing {
  const { action, known } = explained;
  const syncIt = `groupsync sync --only ${shellWord(explained.user_group_id)}`;
  switch (action?.kind) {
    case "create":
    case "update":
    case "replace":
    case "delete":
      return standingOfChange(action, explained, action.kind === "delete" ? "groupsync sync" : syncIt);
    case "waiting":
      return {
        state: "failing",
        reason: [
          `the last try failed with ${action.code}; a sync tries again after `,
          new Date(action.retryAt),
        ],
        advice: adviceForChange(action, explained),
        command: explained.tenant?.kind === "desired" ? syncIt : null,
      };
    case "rejected":
      return {
        state: "rejected",
        reason: `${known === undefined ? "it gets no group" : "its group stays as it is"}, because its row is rejected (${action.code}): ${action.message}`,
        advice: adviceFor(action),
        command: syncIt,
      };
    case "not_ready":
      return {
        state: "not_ready",
        reason: `source.ready_when is not true for its row, so ${known === undefined ? "it gets no group yet" : "its group stays as it is"}`,
        advice: null,
        command: null,
      };
    case "missing":
      return {
        state: "missing",
        reason: missingText(action),
        advice: `if the tenant is not gone, mend its row or put it back: look at ${explained.table === null ? "source.query" : "source.where"} and source.removed_when too`,
        command: null,
      };
    case "outdated":
      return {
        state: "outdated",
        reason: "its row has changed, but service.update is never, so its group stays as it is",
        advice: "set service.update to upsert or replace, if the group is to follow its row",
        command: null,
      };
    case "gone":
    case undefined:
      return explained.tenant?.kind === "desired" ? standingAtRest(explained, syncIt) : GONE;
  }
}

const GONE: Standing = { state: "gone", reason: GONE_TEXT, advice: null, command: null };

function standingOfChange(change: Change, explained: ExplainedTenant, command: string): Standing {
  const { user_group_id, known, record, approval } = explained;
  if (known?.held && isRemoval(change) && !change.underWay) {
    return {
      state: "held",
      reason: `its ${known.held === "delete" ? "deletion" : "replacement"} is held until somebody approves it`,
      advice: "groupsync plan says why, and what else is held: look at the source first",
      command: approval === null ? "groupsync plan" : `groupsync sync --approve-deletions ${approval}`,
    };
  }
  const failure = record.group?.failures.change;
  if (change.failedBefore && failure)
    return {
      state: "failing",
      reason: failedText(failure),
      advice: adviceForChange(failure, explained),
      command,
    };
  if (change.underWay && known?.intent === "rotate") {
    return {
      state: "under_way",
      reason:
        "nobody knows what came of its last rotation; the next sync asks the service which token is live, and stores that one",
      advice: "a sync doesn't rotate it: if a new token was asked for, rotate it again",
      command: rotateIt(user_group_id),
    };
  }
  if (change.underWay) {
    return {
      state: "under_way",
      reason: `nobody knows what came of the last call for it; the next sync ${change.kind === "delete" ? "deletes its group" : "asks the service"}`,
      advice: null,
      command,
    };
  }
  switch (change.kind) {
    case "create":
      return { state: "new", reason: "it has no group yet; the next sync creates it", advice: null, command };
    case "update":
      return {
        state: "changed",
        reason: isForToken(change)
          ? "its token has to be asked for"
          : "its row has changed; the next sync updates its group",
        advice: null,
        command,
      };
    case "replace":
      return {
        state: "changed",
        reason:
          "its row has changed; the next sync replaces its group, with a new token, if deletion.limit allows it",
        advice: null,
        command,
      };
    case "delete": {
      const becomes =
        change.absence === "estranged"
          ? "holds its deletion"
          : "deletes its group if deletion.limit allows it";
      return {
        state: "deletion_due",
        reason: `${ABSENCE_TEXT[change.absence]}; the next sync of all tenants ${becomes}`,
        advice: "mend its row or put it back first, if the tenant is not gone",
        command,
      };
    }
  }
}

const rotateIt = (user_group_id: string): string => `groupsync rotate --only ${shellWord(user_group_id)}`;

const adviceFor = ({ code }: Pick<RecordedFailure, "code">): string =>
  remedyOf(code) ?? "mend what the message names";

const adviceForChange = (failure: Pick<RecordedFailure, "code">, { service }: ExplainedTenant): string =>
  (failure.code === "NOT_UPDATED" ? adviceOnKeptGroups(service) : null) ?? adviceFor(failure);

const failedText = ({ code }: RecordedFailure): string =>
  `the last try failed with ${code}; the next sync tries again`;

/** Nothing is to be done about the group itself. */
function standingAtRest({ user_group_id, record, copies }: ExplainedTenant, command: string): Standing {
  const { storing, rotation } = record.group?.failures ?? {};
  if (copies.kind === "unreadable") {
    const { message, hint = null } = copies.error;
    return {
      state: "store_unreadable",
      reason: `its group is in sync, but nobody can see whether its token is stored: ${message}`,
      advice: hint,
      command: "groupsync check",
    };
  }
  const misplaced = misplacedText(copies);
  if (misplaced !== null || storing) {
    return {
      state: "token_not_stored",
      reason: misplaced ?? `its token is not in every store: ${storing?.code}`,
      advice: storing ? adviceFor(storing) : null,
      command,
    };
  }
  if (rotation) {
    return {
      state: "rotation_failing",
      reason: `its group is in sync, but its last rotation failed with ${rotation.code}`,
      advice: adviceFor(rotation),
      command: rotateIt(user_group_id),
    };
  }
  return { state: "in_sync", reason: "its group is as its row wants it", advice: null, command: null };
}

function misplacedText(copies: Exclude<ExplainedTenant["copies"], { kind: "unreadable" }>): string | null {
  switch (copies.kind) {
    case "none known":
    case "in every store":
      return null;
    case "in some stores":
      return "one token store has its token, and another one lacks it";
    case "another token":
      return "the token store holds another token than the service told last";
    case "no token":
      return "the token store holds no token of it";
  }
}
