import { rejectedRows } from "../group/rejections.ts";
import { printable, type TimedText } from "../text/printable.ts";
import { durationText, quantity } from "../text/quantity.ts";
import { type Fact, fact, type Section, type View } from "./card.ts";
import { countsText } from "./counts.ts";
import { type Dependency, dependenciesOf } from "./dependencies.ts";
import { age, incidentsOf, wellCard } from "./incidents.ts";
import { progress, queuedText } from "./progress.ts";
import {
  type DaemonState,
  GROUP_STATES,
  type LedgerStatus,
  oldestWaitMs,
  type PastRun,
  runsOf,
  type ScopeFacts,
} from "./scope-facts.ts";

/** In characters. */
const LONGEST = 200;

/** All that is shown of a scope: `status` prints it, and the status page draws it. Holds no secret. */
export function scopeView(facts: ScopeFacts, now: Date): View {
  const incidents = incidentsOf(facts, now);
  const { ledger, daemon } = facts;
  const sections: readonly Section[] = [
    { id: "dependencies", title: "Dependencies", facts: dependenciesOf(facts).flatMap(dependencyFact) },
    { id: "now", title: "Now", facts: daemon ? currentRun(daemon, now) : [] },
    { id: "runs", title: "Runs", facts: [...lastRun(facts), ...(daemon ? schedule(daemon, now) : [])] },
    {
      id: "more",
      title: "Groups, tokens, process",
      facts: [
        ...(ledger ? ledgerFacts(ledger, daemon) : []),
        ...(daemon ? processFacts(daemon, oldestWaitMs(facts)) : []),
      ],
    },
  ];
  return {
    cards: incidents.length > 0 ? incidents : [wellCard(facts, now)],
    sections: sections.filter((section) => section.facts.length > 0),
  };
}

function dependencyFact({ name, contact, error, place, tone }: Dependency): readonly Fact[] {
  const failed: TimedText = error ? [tone === "good" ? "last error " : "", `${error.code}, `, error.at] : [];
  const where = place === "" ? [] : [`${error ? "; " : ""}${printable(place, LONGEST)}`];
  const value = contact ? [`${contact.what} `, contact.at] : error ? "fails" : "not asked yet";
  return fact(name, value, { tone, details: [...failed, ...where] });
}

function currentRun({ current, queued }: DaemonState, now: Date): readonly Fact[] {
  const queue = fact("Queue", queued && printable(queuedText(queued), LONGEST));
  if (!current) return queue;
  const { run, since, done, total, waiting } = current;
  const { leftMs } = progress({ done, total }, age(since, now));
  const left = leftMs !== undefined && done < total ? `, about ${durationText(leftMs)} left` : "";
  const counted = total > 0 ? `${done} of ${total} done${left}` : "reading the source and comparing";
  return [
    ...fact("Work", run === null ? "waiting for the lease" : counted),
    ...fact("Began", [since]),
    ...fact("Waits until", waiting && [waiting.until, `: ${printable(waiting.reason, LONGEST)}`]),
    ...queue,
  ];
}

function lastRun(facts: ScopeFacts): readonly Fact[] {
  const last = runsOf(facts).find(({ result }) => result !== null);
  if (!last) return fact("Last run", facts.daemon && "none yet");
  const { command, startedAt, result } = last;
  const details = `${printable(command)} ${result?.outcome}: ${runText(last)}`;
  return fact("Last run", [startedAt], { details });
}

/** What a run that has ended did, without its outcome: `2 created; 3 requests in 405 ms`. */
export function runText({ command, startedAt, finishedAt, result }: PastRun, longest = LONGEST): string {
  if (!result || !finishedAt) return "did not finish";
  const { counts, requests, error } = result;
  const changed = countsText({ ...counts, unchanged: 0 });
  const what = [
    // A probe changes no group of a tenant.
    ...(changed === "" && (error || command === "probe") ? [] : [changed || "nothing to do"]),
    `${quantity(requests, "request")} in ${durationText(age(startedAt, finishedAt))}`,
    ...(error ? [`${error.code}: ${printable(error.message, longest)}`] : []),
  ];
  return what.join("; ");
}

function schedule(daemon: DaemonState, now: Date): readonly Fact[] {
  const { nextRun, schedule: details, lastGoodSync, staleAt } = daemon;
  const stale = { tone: "bad", details: ["too old since ", staleAt] } as const;
  return [
    ...fact("Next run", nextRun ? [nextRun] : "none: it is stopping", { details }),
    ...fact(
      "Last good sync",
      lastGoodSync ? [lastGoodSync] : "none yet",
      now > staleAt ? stale : { details: ["too old from ", staleAt] },
    ),
  ];
}

function ledgerFacts(ledger: LedgerStatus, daemon: DaemonState | null): readonly Fact[] {
  const { groups, rejected, oldestToken, oldestUnsynced, tooOld } = ledger;
  const states = GROUP_STATES.filter((state) => groups[state] > 0);
  const counted = states.map((state) => `, ${groups[state]} ${state.replace("_", " ")}`).join("");
  const rows = rejectedRows(rejected);
  return [
    ...fact("Groups", `${groups.total} in all${counted}`, {
      details: rows > 0 ? quantity(rows, "rejected row") : "",
    }),
    ...fact("Oldest unsynced", oldestUnsynced && [oldestUnsynced]),
    ...fact("Oldest token", oldestToken ? [oldestToken] : "none yet", tooOldDetails(tooOld)),
    ...fact("Lease", leaseText(ledger, daemon)),
  ];
}

function tooOldDetails(tooOld: LedgerStatus["tooOld"]): Pick<Fact, "tone" | "details"> {
  const { maxAgeMs, tokens } = tooOld ?? { maxAgeMs: 0, tokens: 0 };
  if (tokens === 0) return {};
  const are = `${quantity(tokens, "token")} that a sync rotates ${tokens === 1 ? "is" : "are"}`;
  return { tone: "attention", details: `${are} older than rotation.max_age (${durationText(maxAgeMs)})` };
}

/** Who is at work. */
export function leaseText({ lease }: Pick<LedgerStatus, "lease">, daemon: DaemonState | null): TimedText {
  if (daemon?.current?.run) return "held by this instance";
  if (daemon?.standby) return printable(daemon.standby.message, 500);
  return lease ? [`${printable(lease.holder)}, since `, lease.acquiredAt] : "free";
}

function processFacts(daemon: DaemonState, waitedMs: number): readonly Fact[] {
  const { version, configPath, startedAt, skippedRuns, standby, serving } = daemon;
  const replies = standby ? "handed on to the instance that holds the lease" : "accepted";
  return [
    ...fact("POST /sync", serving?.takesRequests ? replies : null),
    ...fact("Longest wait now", waitedMs > 0 ? durationText(waitedMs) : null),
    ...fact("Version", printable(version)),
    ...fact("Config", printable(configPath, 500)),
    ...fact("Up since", [startedAt]),
    ...fact("Skipped runs", skippedRuns > 0 ? `${skippedRuns}, because a run went on` : null),
  ];
}
