import { ABSENCE_TEXT, GONE_TEXT, missingText } from "../../core/deletion/missing-tenants.ts";
import { remedyOf } from "../../core/failure/error-codes.ts";
import { type Change, isRemoval } from "../../core/plan/change.ts";
import { DOUBT_TEXT } from "../../core/record/record.ts";
import { shellWord, type TimedText } from "../../core/text/printable.ts";
import type { Explanation } from "./explain-tenant.ts";

/** How a tenant may stand, and whether that is as it should be (`good`) or needs somebody now (`bad`). */
const TONES = {
  in_sync: "good",
  new: "busy",
  changed: "busy",
  under_way: "busy",
  not_ready: "idle",
  outdated: "idle",
  gone: "idle",
  held: "attention",
  in_doubt: "attention",
  missing: "attention",
  deletion_due: "attention",
  rejected: "bad",
  failing: "bad",
  token_not_stored: "bad",
  store_unreadable: "bad",
  rotation_wanted: "attention",
  rotation_failing: "bad",
} as const;

type State = keyof typeof TONES;

interface Standing {
  readonly state: State;
  readonly tone: (typeof TONES)[State];
  /** A sentence without its end. */
  readonly reason: TimedText;
  /** What the operator can do, beside the command or before it; null if there is nothing. */
  readonly advice: string | null;
  /** The one command that helps; null if none does, or none is needed. */
  readonly command: string | null;
}

const standing = (
  state: State,
  reason: TimedText,
  { advice = null, command = null }: Partial<Pick<Standing, "advice" | "command">> = {},
): Standing => ({ state, tone: TONES[state], reason, advice, command });

/** Says how the tenant stands: the planned action decides, and then what has failed or is missing beside it. */
export function standingOf(explanation: Explanation): Standing {
  const { action, group, tenant, table, user_group_id } = explanation;
  const command = `groupsync sync --only ${shellWord(user_group_id)}`;
  const consequence = group === null ? "it gets no group" : "its group stays as it is";
  switch (action?.kind) {
    case "create":
    case "update":
    case "replace":
    case "delete":
      return standingOfChange(action, explanation, action.kind === "delete" ? "groupsync sync" : command);
    case "waiting":
      return standing(
        "failing",
        [`the last try failed with ${action.code}; a sync tries again after `, new Date(action.retryAt)],
        {
          advice: remedyOf(action.code),
          command: tenant?.kind === "desired" ? command : null,
        },
      );
    case "rejected":
      return standing(
        "rejected",
        `${consequence}, because its row is rejected (${action.code}): ${action.message}`,
        { advice: remedyOf(action.code), command },
      );
    case "not_ready":
      return standing("not_ready", `source.ready_when is not true for its row, so ${consequence} for now`);
    case "missing":
      return standing("missing", missingText(action), {
        advice: `if the tenant is not gone, correct its row or put it back: look at ${table === null ? "source.query" : "source.where"} and source.removed_when too`,
      });
    case "outdated":
      return standing("outdated", `its row has changed, but service.update is never, so ${consequence}`, {
        advice: "set service.update to upsert or replace, if the group is to follow its row",
      });
    case "gone":
    case undefined:
      return tenant?.kind === "desired" ? standingAtRest(explanation, command) : standing("gone", GONE_TEXT);
  }
}

function standingOfChange(change: Change, explanation: Explanation, command: string): Standing {
  const { group, approval } = explanation;
  if (group?.held && isRemoval(change) && !change.underWay)
    return standing(
      "held",
      `its ${group.held === "delete" ? "deletion" : "replacement"} is held until somebody approves it`,
      {
        advice: "groupsync plan says why, and what else is held: look at the source first",
        command: approval === null ? "groupsync plan" : `groupsync sync --approve-deletions ${approval}`,
      },
    );
  const failure = group?.failures.change;
  if (change.failedBefore && failure)
    return standing("failing", `the last try failed with ${failure.code}; the next sync tries again`, {
      advice: remedyOf(failure.code),
      command,
    });
  if (change.underWay) {
    const next = change.kind === "delete" ? "deletes its group" : "asks the service";
    const reason = `nobody knows what came of the last call for it; the next sync ${next}`;
    return standing("under_way", reason, { command });
  }
  switch (change.kind) {
    case "create":
      return standing("new", "it has no group yet; the next sync creates it", { command });
    case "update":
      return standing("changed", "its row has changed; the next sync updates its group", { command });
    case "replace":
      return standing(
        "changed",
        "its row has changed; the next sync replaces its group, with a new token, if deletion.limit allows it",
        { command },
      );
    case "delete": {
      const becomes =
        change.absence === "unseen" ? "holds its deletion" : "deletes its group if deletion.limit allows it";
      return standing(
        "deletion_due",
        `${ABSENCE_TEXT[change.absence]}; the next sync of all tenants ${becomes}`,
        { advice: "correct its row or put it back first, if the tenant is not gone", command },
      );
    }
  }
}

/** Nothing is to be done about the group itself. */
function standingAtRest({ user_group_id, group, copies, unsafe }: Explanation, command: string): Standing {
  const { storing, rotation } = group?.failures ?? {};
  const { wantedSince: wanted, doubt } = group ?? {};
  const tokenProblem = copiesText(copies);
  if (copies.kind === "unreadable")
    return standing("store_unreadable", `its group is in sync, but ${tokenProblem}`, {
      advice: copies.error.hint ?? null,
      command: "groupsync check",
    });
  if (tokenProblem !== null || storing)
    return standing("token_not_stored", tokenProblem ?? `its token is not in every store: ${storing?.code}`, {
      advice: storing ? remedyOf(storing.code) : null,
      command,
    });
  if (rotation)
    return standing(
      "rotation_failing",
      `its group is in sync, but its last rotation failed with ${rotation.code}`,
      { advice: remedyOf(rotation.code), command: rotateIt(user_group_id) },
    );
  if (doubt)
    return standing(
      "in_doubt",
      `${DOUBT_TEXT[doubt]}, so its token may be another one; ${unsafe?.message ?? "the next sync asks the service"}`,
      unsafe ? { advice: unsafe.hint ?? null } : { command },
    );
  if (wanted)
    return standing(
      "rotation_wanted",
      ["a new token was asked for at ", wanted, "; the next sync goes on with it"],
      { command },
    );
  return standing("in_sync", "its group is as its row wants it");
}

const rotateIt = (user_group_id: string): string => `groupsync rotate --only ${shellWord(user_group_id)}`;

/** What is wrong with the stored token; null if nothing is. */
export function copiesText(copies: Explanation["copies"]): string | null {
  switch (copies.kind) {
    case "none known":
    case "in every store":
      return null;
    case "in some stores":
      return "one token store has its token, and another one lacks it";
    case "another token":
      return `the token store holds another token than the service told last, with the hash ${copies.fingerprint}`;
    case "no token":
      return "the token store holds no token of it";
    case "unreadable":
      return `nobody can see whether its token is stored: ${copies.error.code}: ${copies.error.message}`;
  }
}
