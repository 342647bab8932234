import type { Upsert } from "../core/change.ts";
import { intendsRemoval } from "../core/ledger-group.ts";
import type { Outcome } from "../core/outcome.ts";
import { type Expectation, judge } from "../core/verdict.ts";
import type { KnownGroup } from "../ports/ledger.ts";
import type { Run } from "./run.ts";
import type { ServiceCalls } from "./service-calls.ts";

/** Creates or updates a group by one GET. Undefined where the run is ending. */
export async function upsertGroup(
  change: Upsert,
  before: KnownGroup | null,
  calls: ServiceCalls,
  { identity }: Pick<Run, "identity">,
): Promise<Outcome | undefined> {
  const called = await calls.getOrCreate(change.group);
  if (called.kind !== "answered") return calls.failed(change, called);
  const { isNew, group } = called.answer;
  const { token, name: serviceName } = group;
  const verdict = judge(
    {
      sent: change.group,
      known: before !== null,
      confirmedName: before?.name ?? null,
      confirmedAs: confirmedAs(change, before),
      mayBeAnother: mayBeAnother(change, before),
      mayHaveBeenSent: called.mayHaveBeenSent,
      mayHaveBeenMade: called.mayHaveBeenSent || hasChangeUnderWay(before),
      serviceUpdates: identity.updates,
    },
    { isNew, name: serviceName },
  );
  identity.learnUpdates(verdict.serviceUpdates);
  if (verdict.kind === "not_updated") {
    const failure = { code: "NOT_UPDATED", message: verdict.reason };
    return { kind: "not_updated", change, token, serviceName, failure };
  }
  const kind = isNew && wasRemoved(before) ? "replaced" : verdict.kind;
  return { kind, change, token, serviceName, unverified: verdict.unverified };
}

/** Its DELETE was under way, and is seen now to have been carried out: it counts against the limit. */
const wasRemoved = (before: KnownGroup | null): boolean =>
  before !== null && intendsRemoval(before.intent) && before.fingerprint !== null;

/** What an earlier run may have made of it, only the intents tell. */
const mayBeAnother = ({ fingerprint }: Upsert, before: KnownGroup | null): boolean =>
  hasChangeUnderWay(before) && before?.intended !== fingerprint;

/** A rotation leaves all but the token as it was. */
const hasChangeUnderWay = (before: KnownGroup | null): boolean =>
  before !== null && before.intent !== null && before.intent !== "rotate";

function confirmedAs({ fingerprint }: Upsert, before: KnownGroup | null): Expectation["confirmedAs"] {
  return before?.fingerprint === fingerprint ? (before.unverified ?? "verified") : null;
}
