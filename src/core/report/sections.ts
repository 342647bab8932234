import { rejectedRows } from "../group/rejections.ts";
import { printable, type TimedText } from "../text/printable.ts";
import { durationText, quantity } from "../text/quantity.ts";
import type { Fact, Section, View } from "./card.ts";
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

/** All that is shown of a scope. */
export function scopeView(facts: ScopeFacts, now: Date): View {
  const incidents = incidentsOf(facts, now);
  return {
    cards: incidents.length > 0 ? incidents : [wellCard(facts, now)],
    sections: sectionsOf(facts, now),
  };
}

/**
 * All that is shown of a scope beside what is wrong. `status` prints it and the status page draws it: each fact is worded here, and
 * holds no secret. Leaves out what there isn't.
 */
export function sectionsOf(facts: ScopeFacts, now: Date): readonly Section[] {
  const sections: readonly Section[] = [
    { id: "dependencies", title: "Dependencies", facts: dependenciesOf(facts).map(dependencyFact) },
    { id: "now", title: "Current run", facts: currentRun(facts, now) },
    { id: "runs", title: "Runs", facts: [...lastRun(facts), ...schedule(facts, now)] },
    {
      id: "more",
      title: "Groups, tokens, process",
      facts: [...ledgerFacts(facts), ...processFacts(facts)],
    },
  ];
  return sections.filter((section) => section.facts.length > 0);
}

function dependencyFact({ name, contact, error, place, tone }: Dependency): Fact {
  const failed: TimedText = error ? [tone === "good" ? "last error " : "", `${error.code}, `, error.at] : [];
  const where = place === "" ? [] : [`${error ? "; " : ""}${printable(place, LONGEST)}`];
  return {
    ...{ label: name, tone, details: [...failed, ...where] },
    value: contact ? [`${contact.what} `, contact.at] : error ? "fails" : "not asked yet",
  };
}

function currentRun({ daemon }: ScopeFacts, now: Date): Fact[] {
  if (!daemon?.current) return [];
  const { run, since, done, total, waiting } = daemon.current;
  const { leftMs } = progress({ done, total }, age(since, now));
  const left = leftMs !== undefined && done < total ? `, about ${durationText(leftMs)} left` : "";
  const counted = total > 0 ? `${done} of ${total} done${left}` : "reading the source and comparing";
  return [
    { label: "Work", value: run === null ? "waiting for the lease" : counted },
    { label: "Began", value: [since] },
    ...(waiting
      ? [{ label: "Waits until", value: [waiting.until, `: ${printable(waiting.reason, LONGEST)}`] }]
      : []),
    ...(daemon.queued ? [{ label: "Queue", value: printable(queuedText(daemon.queued), LONGEST) }] : []),
  ];
}

function lastRun(facts: ScopeFacts): Fact[] {
  const last = runsOf(facts).find(({ result }) => result !== null);
  if (!last) return facts.daemon ? [{ label: "Last run", value: "none yet" }] : [];
  const { command, startedAt, result } = last;
  const details = `${printable(command)} ${result?.outcome}: ${runText(last)}`;
  return [{ label: "Last run", value: [startedAt], details }];
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

function schedule({ daemon }: ScopeFacts, now: Date): Fact[] {
  if (!daemon) return [];
  const { nextRun, schedule: line, lastGoodSync, staleAt } = daemon;
  const isStale = now > staleAt;
  return [
    { label: "Next run", value: nextRun ? [nextRun] : "none: it is stopping", details: line },
    {
      label: "Last good sync",
      value: lastGoodSync ? [lastGoodSync] : "none yet",
      ...(isStale && ({ tone: "bad" } as const)),
      details: [isStale ? "too old since " : "too old from ", staleAt],
    },
  ];
}

function ledgerFacts({ ledger, daemon }: ScopeFacts): Fact[] {
  if (!ledger) return [];
  const { groups, rejected, oldestToken, oldestUnsynced, tooOld } = ledger;
  const states = GROUP_STATES.flatMap((state) =>
    groups[state] > 0 ? [`${groups[state]} ${state.replace("_", " ")}`] : [],
  );
  const rows = rejectedRows(rejected);
  return [
    {
      label: "Groups",
      value: [`${groups.total} in all`, ...states].join(", "),
      details: rows > 0 ? quantity(rows, "rejected row") : "",
    },
    ...(oldestUnsynced ? [{ label: "Oldest unsynced", value: [oldestUnsynced] }] : []),
    {
      label: "Oldest token",
      value: oldestToken ? [oldestToken] : "none yet",
      ...tooOldDetails(tooOld),
    },
    { label: "Lease", value: leaseText(ledger, daemon) },
  ];
}

function tooOldDetails(tooOld: LedgerStatus["tooOld"]): Pick<Fact, "tone" | "details"> {
  const { maxAgeMs, tokens } = tooOld ?? { maxAgeMs: 0, tokens: 0 };
  if (tokens === 0) return {};
  const are = `${quantity(tokens, "token")} that a sync rotates ${tokens === 1 ? "is" : "are"}`;
  return { tone: "attention", details: `${are} older than rotation.max_age (${durationText(maxAgeMs)})` };
}

/** Who is at work. */
function leaseText({ lease }: Pick<LedgerStatus, "lease">, daemon: DaemonState | null): TimedText {
  if (daemon?.current?.run) return "held by this instance";
  if (daemon?.standby) return printable(daemon.standby.message, 500);
  return lease ? [`${printable(lease.holder)}, since `, lease.acquiredAt] : "free";
}

function processFacts(facts: ScopeFacts): Fact[] {
  const { daemon } = facts;
  if (!daemon) return [];
  const waitedMs = oldestWaitMs(facts);
  const { version, configPath, startedAt, skippedRuns, standby } = daemon;
  const replies = standby ? "handed on to the instance that holds the lease" : "accepted";
  return [
    ...(daemon.serving?.takesRequests ? [{ label: "POST /sync", value: replies }] : []),
    ...(waitedMs > 0 ? [{ label: "Longest wait now", value: durationText(waitedMs) }] : []),
    { label: "Version", value: printable(version) },
    { label: "Config", value: printable(configPath, 500) },
    { label: "Up since", value: [startedAt] },
    ...(skippedRuns > 0 ? [{ label: "Skipped runs", value: `${skippedRuns}, because a run went on` }] : []),
  ];
}
