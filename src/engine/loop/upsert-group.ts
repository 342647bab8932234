import { classifyGetAnswer, isRewriting, type KnownBeforeGet } from "../../core/apply/classify-get-answer.ts";
import type { Outcome } from "../../core/apply/outcome.ts";
import { findDrift } from "../../core/drift/drift.ts";
import { tokenFingerprint } from "../../core/group/group.ts";
import { intendsRemoval, UNKNOWN_STATE } from "../../core/group/ledger-group.ts";
import { isForToken, type Upsert } from "../../core/plan/change.ts";
import type { GroupRecord } from "../../core/record/record.ts";
import type { ServiceCalling, ServiceCalls } from "../service/service-calls.ts";

/** Creates or updates a group by one GET. Resolves to undefined if the run is ending. */
export async function upsertGroup(
  change: Upsert,
  before: GroupRecord | null,
  calls: ServiceCalls,
  { identity }: Pick<ServiceCalling, "identity">,
): Promise<Outcome | undefined> {
  const called = await calls.getOrCreate(change.group);
  if (called.kind !== "answered") return calls.failed(change, called);
  const { isNew, group } = called.answer;
  const { token, name: serviceName } = group;
  const hasKnownToken = before?.tokenFingerprint === tokenFingerprint(token);
  const result = classifyGetAnswer(
    {
      sent: change.group,
      known: before !== null,
      confirmedName: before?.serviceName ?? null,
      acceptedName: acceptedName(before),
      confirmedAs: confirmedAs(change, before),
      mayBeAnother: mayBeAnother(change, before) || (before?.doubt === "rewind" && !hasKnownToken),
      mayHaveBeenSent: called.mayHaveBeenSent,
      hasKnownToken,
      evidence: identity.evidence,
    },
    { isNew, name: serviceName },
  );
  if (result.shown) identity.learn(change.user_group_id, result.shown);
  const wasRemoved = mayBeRemoved(before) && (isNew || !hasKnownToken);
  const drift = findDrift(
    before,
    {
      isNew,
      mayHaveBeenSent: called.mayHaveBeenSent,
      tokenFingerprint: tokenFingerprint(token),
      hasName: result.kind !== "not_updated",
    },
    isForToken(change),
  );
  const told = { isNew, change, token, serviceName, drift };
  if (result.kind === "not_updated") {
    const { kind: notUpdated, reason, isUnknownState } = result;
    const isGone = before !== null && before.absence !== null && isForToken(change);
    const failure = isGone ? null : { code: "NOT_UPDATED", message: reason };
    return { kind: notUpdated, ...told, isUnknownState, wasRemoved, failure };
  }
  return { kind: wasRemoved ? "replaced" : result.kind, ...told, unverified: result.unverified };
}

/**
 * In an unknown state, the service may have been sent another name since the confirmed one. Not if it calls the group by a name that
 * it makes of the confirmed one.
 */
function acceptedName(before: GroupRecord | null): string | null {
  if (before === null) return null;
  const { fingerprint, confirmed, serviceName } = before;
  if (fingerprint !== UNKNOWN_STATE) return confirmed?.name ?? serviceName;
  return confirmed && serviceName && isRewriting(confirmed.name, serviceName) ? confirmed.name : null;
}

/**
 * Whether an earlier run's DELETE was under way. If this GET has created the group, that DELETE took effect: it is a removal.
 * If the group has another token, it took effect too, and a GET whose answer was lost has created the group again.
 */
const mayBeRemoved = (before: GroupRecord | null): boolean =>
  before !== null && intendsRemoval(before.intent) && before.fingerprint !== null;

/** Whether an earlier run, by its intent, may have sent another state of the group than this change does. */
const mayBeAnother = ({ fingerprint }: Upsert, before: GroupRecord | null): boolean =>
  hasChangeUnderWay(before) && before?.intended !== fingerprint;

/** A rotation doesn't count: it changes the token alone. */
const hasChangeUnderWay = (before: GroupRecord | null): boolean =>
  before !== null && before.intent !== null && before.intent !== "rotate";

function confirmedAs({ fingerprint }: Upsert, before: GroupRecord | null): KnownBeforeGet["confirmedAs"] {
  return before?.fingerprint === fingerprint ? (before.unverified ?? "verified") : null;
}
