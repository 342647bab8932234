import { interrupted, withHint } from "../core/failure/sync-error.ts";
import { isCanary } from "../core/group/ledger-group.ts";
import type { Delete } from "../core/plan/change.ts";
import type { GroupRecord } from "../core/record/record.ts";
import { FORGET } from "../core/report/forgotten.ts";
import type { KnownService } from "../ports/ledger/scope.ts";
import type { TokenStore } from "../ports/token-store.ts";
import { withLease } from "./lease/lease.ts";
import { leasedRun, NO_TOKENS, type Run, type RunPorts, type RunSettings } from "./leased-run.ts";
import { makeChanges } from "./loop/make-changes.ts";
import { candidatePages } from "./plan/candidate-pages.ts";
import { type RunReport, reportOn } from "./report/run-report.ts";
import { Tally } from "./report/tally.ts";
import { insistOnOwnGroups } from "./scope/scope.ts";
import { giveUpDestinations } from "./tokens/destination-owners.ts";

export interface Forgotten {
  readonly report: RunReport;
  /** False if the scope stays, with what is left of its groups, because not everything could be done. */
  readonly isForgotten: boolean;
  /** The destinations of tokens that nobody owns any more. */
  readonly free: readonly string[];
}

/**
 * Forgets a scope, whose groups and tokens stay as they are. First gives up the destinations of the tokens in `ports`; they
 * are left out if they are not those of the scope. Rejects with LEASE_HELD if anybody holds the lease, even a daemon that hands it
 * over to other commands, and with LEDGER_… and TOKEN_STORE_…: then the scope is still there, and can be forgotten again.
 */
export async function forgetScope(
  ports: Omit<RunPorts, "tokens"> & { readonly tokens?: TokenStore | undefined },
  settings: RunSettings,
  signal: AbortSignal,
): Promise<Forgotten> {
  const { ledger, clock, tokens = NO_TOKENS } = ports;
  const started = clock.monotonic();
  let free: readonly string[] = [];
  const report = (): RunReport => reportOn(new Tally(), clock.monotonic() - started, undefined);
  await withLease(ports, ofNobodyElse(settings).lease, signal, async (lease) => {
    if (signal.aborted) throw interrupted();
    lease.assertHeld();
    free = await giveUpDestinations(settings.name, { ledger, tokens });
    await ledger.write(lease, async (transaction) => {
      const run = await transaction.startRun(FORGET, clock.now());
      await transaction.forgetScope();
      const { outcome, counts, requests } = report();
      await transaction.finishRun(run, { outcome, counts, requests, error: null }, clock.now());
    });
  });
  return { report: report(), isForgotten: true, free };
}

/**
 * Deletes all groups of a scope, as a sync deletes the group of a tenant that is gone, and then forgets the scope. No grace
 * period and no limit holds a deletion. What is under way is settled by that: of a group that may exist, a GET asks for the token.
 * If a group can't be deleted, or the run ends early, the ledger keeps what is left, and the same command goes on from there.
 */
export async function deleteAndForget(
  ports: RunPorts,
  settings: RunSettings,
  signal: AbortSignal,
): Promise<Forgotten> {
  let free: readonly string[] | undefined;
  const deleteAll = async (run: Run, service: KnownService): Promise<void> => {
    const { ledger, lease, observe } = run;
    await insistOnOwnGroups({ ...service, baseUrl: settings.baseUrl }, ledger, leaveThem);
    const others = await othersOf(run);
    observe({
      kind: "planned",
      changes: (await ledger.sums({ kind: "existing" })).counts.total + others.length,
      unchanged: 0,
      missing: 0,
    });
    observe({ kind: "phase", phase: "applying" });
    await makeChanges(deletions(others, run), run);
    if (run.signal.aborted) throw interrupted();
    if (run.tally.counts.failed > 0) return;
    free = await giveUpDestinations(settings.name, run);
    await ledger.write(lease, (transaction) => transaction.forgetScope());
  };
  const report = await leasedRun(FORGET, ports, ofNobodyElse(settings), signal, (run, service) =>
    deleteAll(run, service).catch((error: unknown) => {
      throw withHint(SAME_COMMAND_GOES_ON, error);
    }),
  );
  return { report, isForgotten: free !== undefined, free: free ?? [] };
}

const SAME_COMMAND_GOES_ON =
  "the same command goes on from there; a sync with this config would make the deleted groups again";

const ofNobodyElse = (settings: RunSettings): RunSettings => ({
  ...settings,
  lease: { ...settings.lease, asksNobody: true },
});

/** The groups that are deleted already, and whose tokens are still stored; and the canaries of probes. */
async function othersOf({ ledger }: Pick<Run, "ledger">): Promise<readonly GroupRecord[]> {
  const others: GroupRecord[] = [];
  for await (const page of candidatePages(ledger, { kind: "owing" }))
    for (const group of page) if (group.intent === "remove" || isCanary(group)) others.push(group);
  return others;
}

async function* deletions(
  first: readonly GroupRecord[],
  { ledger }: Pick<Run, "ledger">,
): AsyncGenerator<Delete> {
  for (const record of first) yield deletionOf(record);
  for await (const page of candidatePages(ledger, { kind: "existing" }))
    for (const record of page) yield deletionOf(record);
}

const deletionOf = (record: GroupRecord): Delete => ({
  kind: "delete",
  user_group_id: record.user_group_id,
  absence: isCanary(record) ? "canary" : "forgotten",
  underWay: false,
  failedBefore: false,
});

const leaveThem = (other: string): string =>
  `no group was deleted, because to delete it would take it from ${JSON.stringify(other)}: run \`groupsync forget\` without --delete-groups, and the groups stay for that scope`;
