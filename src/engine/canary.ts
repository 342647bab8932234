import type { Failure } from "../core/failure/sync-error.ts";
import { isCanary } from "../core/group/ledger-group.ts";
import type { EventOf } from "../core/record/next.ts";
import type { GroupReads } from "../ports/ledger/groups.ts";
import type { Run } from "./leased-run.ts";
import { deleteGroup } from "./loop/remove-group.ts";
import { candidatePages } from "./plan/candidate-pages.ts";
import { ServiceCalls } from "./service/service-calls.ts";

/** The canaries that probes have begun, and that the service may still have. */
export async function canariesIn(ledger: Pick<GroupReads, "candidates">): Promise<readonly string[]> {
  const ids: string[] = [];
  for await (const page of candidatePages(ledger, { kind: "owing" }))
    for (const group of page) if (isCanary(group)) ids.push(group.user_group_id);
  return ids;
}

export async function record(event: EventOf, { ledger, lease, clock }: Run): Promise<void> {
  await ledger.write(lease, (transaction) => transaction.change([event], clock.now()));
}

/** Deletes a canary as a sync does, if the ledger has it. Resolves to undefined if that worked, or if the run is ending. */
export async function deleteCanary(user_group_id: string, run: Run): Promise<Failure | undefined> {
  const before = (await run.ledger.records([user_group_id])).get(user_group_id);
  if (before === undefined) return undefined;
  const flags = { underWay: true, failedBefore: false };
  const calls = new ServiceCalls(run, run.signal, before);
  const change = { kind: "delete", user_group_id, absence: "canary", ...flags } as const;
  const outcome = await deleteGroup(change, before, calls, run);
  if (outcome?.kind === "deleted") await record({ kind: "ended", user_group_id, outcome }, run);
  return outcome?.kind === "failed" ? outcome.failure : undefined;
}
