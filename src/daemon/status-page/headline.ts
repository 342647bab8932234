import { failingGroups, healthOf, type Verdict } from "../../core/report/health.ts";
import { queuedText } from "../../core/report/progress.ts";
import { asSentence, printable } from "../../core/text/printable.ts";
import { healthFacts, type PastRun, pastRuns } from "../state/health.ts";
import { brokenWaysOf, type CurrentRun, type DaemonState, type Queued } from "../state/state.ts";
import type { Tone } from "./document.ts";
import { grouped, groupedCount, relative, roundText, withGrouped } from "./number-and-time-text.ts";

export interface Headline {
  readonly tone: Tone;
  /** Says in one sentence what is wrong, or that nothing is. */
  readonly sentence: string;
  /** What the sentence means, or what to do. May be empty. */
  readonly advice: readonly string[];
  /** The parts of the page that say more. */
  readonly see: readonly Part[];
}

export type Part = "held" | "refresh" | "failing" | "rejected" | "serving";

/**
 * Everything that is wrong, the worst first; or one headline if nothing is. What comes from the ledger is worded as in
 * `groupsync status`.
 */
export function headlinesOf(state: DaemonState, now: Date): readonly [Headline, ...Headline[]] {
  const runs = pastRuns(state);
  const verdicts = healthOf(healthFacts(state, now));
  const ofVerdicts = verdicts.flatMap((verdict) => troubleOf(verdict, state, runs, now));
  const isFailed = ofVerdicts.some(({ tone }) => tone === "bad");
  const [worst, ...others] = [
    ...ofVerdicts,
    ...(isFailed ? [] : unreadableLedger(state, now)),
    ...staleness(state, now, isFailed ? "" : retryText(state, now)),
    ...ofConfig(state, now),
    ...notTold(state, now),
    ...unnoticed(state, now),
  ].toSorted((a, b) => Number(b.tone === "bad") - Number(a.tone === "bad"));
  return worst ? [worst, ...others] : [calm(verdicts[0], state, now)];
}

const headline = (tone: Tone, sentence: string, ...advice: readonly string[]): Headline => ({
  tone,
  sentence,
  advice: advice.filter((line) => line !== ""),
  see: [],
});

function troubleOf(
  { kind, sentence }: Verdict,
  state: DaemonState,
  runs: readonly PastRun[],
  now: Date,
): Headline[] {
  const { current, ledger } = state;
  const hint = asSentence(runs[0]?.hint ?? "");
  switch (kind) {
    case "failed": {
      // A run that was told to stop is not a failure, even though it counts as failed.
      const wasStopped = runs[0]?.result?.error?.code === "INTERRUPTED";
      if (wasStopped && current) return [];
      return [headline(wasStopped ? "attention" : "bad", sentence, hint, retryText(state, now))];
    }
    case "killed":
      return current ? [] : [headline("bad", sentence, retryText(state, now))];
    case "held":
      return ledger?.status.held
        ? [{ ...headline("attention", sentence, LOOK_AT_SOURCE), see: ["held"] }]
        : [headline("attention", sentence, hint || "Look at the source first: groupsync plan says more.")];
    case "clocks":
      return [headline("attention", sentence, SET_THE_CLOCK)];
    case "refresh":
      return [{ ...headline("attention", withGrouped(sentence), WHO_DELETES), see: ["refresh"] }];
    case "missing":
      return [headline("attention", withGrouped(sentence), MISSING)];
    case "attention":
      return [outOfSync(withGrouped(sentence), state, now)];
    case "silent":
      return [headline("attention", sentence, SILENT)];
    case "waiting":
      return [{ ...headline("attention", sentence, waitingText(state)), see: ["serving"] }];
    case "empty":
    case "running":
    case "well":
      return [];
  }
}

const waitingText = ({ queued }: DaemonState): string =>
  `It has no token yet, or its change isn't made. ${queued ? asSentence(queuedText(queued)) : "The log says what keeps groupsync: the service, its limit, or a database."}`;
const SET_THE_CLOCK = "Set the clock that is wrong, best by NTP. All else goes on meanwhile.";
const LOOK_AT_SOURCE = "Look at the source first: are these tenants really gone?";
const SILENT =
  "Is service.api_key still valid? groupsync check tries it; the log says what the daemon gets when it asks.";
const WHO_DELETES = "Find out who has deleted these groups: to ask for a group that is gone makes it again.";
const MISSING = `${LOOK_AT_SOURCE} groupsync plan names them, and says when their groups are due.`;

function outOfSync(sentence: string, state: DaemonState, now: Date): Headline {
  const status = state.ledger?.status;
  const isFailing = failingGroups(healthFacts(state, now)) > 0;
  const isRejected = (status?.rejected.length ?? 0) > 0;
  const advice = isFailing
    ? "Groups that fail are tried again by themselves."
    : isRejected
      ? "The groups of rejected rows stay as they are until somebody corrects the rows."
      : "groupsync plan names these groups: their rows have changed, and service.update is never.";
  return {
    ...headline("attention", sentence, advice),
    see: [
      ...((status?.groups.failing ?? 0) > 0 ? ["failing" as const] : []),
      ...(isRejected ? ["rejected" as const] : []),
    ],
  };
}

function unreadableLedger(state: DaemonState, now: Date): Headline[] {
  if (state.ledger !== null || !state.lastRun) return [];
  const advice = "Is the database of ledger.url up?";
  return [headline("bad", "The ledger cannot be read.", advice, retryText(state, now))];
}

function staleness(state: DaemonState, now: Date, retry: string): Headline[] {
  const stale = staleText(state, now);
  return stale === null ? [] : [headline("bad", stale, whyStale(state), retry)];
}

/** In lines, and in characters each. The log has the whole report. */
const LONGEST_REPORT = 12;
const LONGEST_LINE = 500;

function ofConfig({ rejectedConfig }: DaemonState, now: Date): Headline[] {
  if (rejectedConfig === null) return [];
  const { since, code, message, hint = "" } = rejectedConfig;
  const lines = message.split("\n");
  const shown = lines.slice(0, LONGEST_REPORT).map((line) => printable(line.trim(), LONGEST_LINE));
  return [
    headline(
      "attention",
      "Needs attention: the new config was rejected, and the old one stays in force.",
      `${code}: ${shown[0] ?? ""}`,
      ...shown.slice(1),
      lines.length > shown.length ? "The log has the rest." : "",
      asSentence(hint),
      `Since ${relative(since, now)}. A restart reads the file as it is; after it is mended, send SIGHUP.`,
    ),
  ];
}

function notTold({ unreached }: DaemonState, now: Date): Headline[] {
  if (unreached.length === 0) return [];
  const keys = unreached.map(({ key }) => key).join(" and ");
  const reasons = unreached.map(
    ({ key, since, message }) =>
      `${key}, since ${relative(since, now)}: ${printable(message, LONGEST_LINE)}.`,
  );
  return [
    headline(
      "attention",
      `Needs attention: ${keys} ${unreached.length === 1 ? "was" : "were"} not reached.`,
      ...reasons,
      "Nobody was told what they had to say. Syncs go on all the same; groupsync check --notify sends a test to both.",
    ),
  ];
}

function unnoticed({ serving }: DaemonState, now: Date): Headline[] {
  const broken = brokenWaysOf(serving).filter(({ since }) => isLasting(since, now));
  if (broken.length === 0) return [];
  const keys = broken.map(({ key }) => key).join(" and ");
  return [
    {
      ...headline(
        "attention",
        `Needs attention: ${keys} ${broken.length === 1 ? "doesn't" : "don't"} work.`,
        "Full syncs find what is missed; until the next one, a tenant that only this would notice has no token.",
      ),
      see: ["serving"],
    },
  ];
}

/** A connection that breaks is back after a moment, as a rule. */
const isLasting = (since: Date, now: Date): boolean => now.getTime() - since.getTime() >= 60_000;

/** Nothing is wrong. */
function calm({ kind, sentence }: Verdict, state: DaemonState, now: Date): Headline {
  const { current, standby, nextRun } = state;
  if (current) {
    const goesOn = current.run === null ? "A run is about to begin." : "A run is going on.";
    return headline("busy", goesOn, BEFORE[kind] ?? "");
  }
  if (standby) {
    return headline(
      "idle",
      "Standing by: another instance is at work.",
      "This one takes over when the other one ends or its lease expires.",
    );
  }
  if (nextRun === null) return headline("idle", "It has been told to stop.");
  if (kind === "empty") return headline("idle", sentence, `The first sync is due ${relative(nextRun, now)}.`);
  if (kind === "running") return headline("busy", sentence);
  return headline("good", sentence, inSyncText(state));
}

/** While a run is under way: what the runs before it left. */
const BEFORE: Readonly<Partial<Record<Verdict["kind"], string>>> = {
  empty: "It is the first one: nothing has been synced yet.",
  killed: "It settles what the last one left, which was killed.",
  well: "All was well after the last one.",
  failed: "It goes on from where the last one was told to stop.",
};

function inSyncText({ ledger }: DaemonState): string {
  if (!ledger) return "";
  const { in_sync, total, missing } = ledger.status.groups;
  const gone =
    missing > 0
      ? `; ${missing === 1 ? "the tenant of 1 is" : `the tenants of ${grouped(missing)} are`} gone`
      : "";
  return `${grouped(in_sync)} of ${groupedCount(total, "group")} ${in_sync === 1 ? "is" : "are"} in sync${gone}.`;
}

function retryText({ nextRun, current }: DaemonState, now: Date): string {
  if (current) return "Another run is going on now.";
  return nextRun ? `It is tried again ${relative(nextRun, now)}; nothing is lost meanwhile.` : "";
}

/** What the run that goes on waits for, or may wait for. */
function waitOf({ run, total, waiting }: CurrentRun, queued: Queued | null): string {
  if (queued) return queuedText(queued);
  if (waiting) return `the run that goes on waits: ${printable(waiting.reason, LONGEST_LINE)}`;
  if (run === null) return "the run that is about to begin waits for the lease";
  return total === 0
    ? "the run that goes on reads the source, or waits for a database"
    : "the run that goes on waits for the service or a database";
}

function staleText({ lastGoodSync, startedAt, staleAt }: DaemonState, now: Date): string | null {
  if (now <= staleAt) return null;
  const since = now.getTime() - (lastGoodSync ?? startedAt).getTime();
  return lastGoodSync
    ? `No sync has reached its end for ${roundText(since)}.`
    : `No sync has reached its end in the ${roundText(since)} since the start.`;
}

function whyStale({ standby, current, queued }: DaemonState): string {
  if (standby) return "Another instance holds the lease: see whether it is still at work.";
  if (current) return asSentence(waitOf(current, queued));
  if (queued)
    return `The next sync begins once the tenants that are served singly are done. ${asSentence(queuedText(queued))}`;
  return "The log says what became of the runs.";
}
