import { recently } from "../../core/deletion/missing-tenants.ts";
import type { Verdict } from "../../core/report/health.ts";
import { queuedText } from "../../core/report/progress.ts";
import { asSentence, printable } from "../../core/text/printable.ts";
import { durationText, quantity } from "../../core/text/quantity.ts";
import { healthOfState, pastRuns } from "./health-of-state.ts";
import type { CurrentRun, DaemonState } from "./state.ts";
import { brokenFeedsOf } from "./state.ts";

export type ProblemKind =
  | Exclude<Verdict["kind"], "unanswered" | "empty" | "running" | "well">
  /** The last run was told to stop. */
  | "stopped"
  | "ledger"
  | "stale"
  | "config"
  | "unreached"
  | "unnoticed"
  | "drift";

/** Something that is wrong, as the status page, `/readyz` and `notify.webhook` say it. */
export interface Problem {
  readonly kind: ProblemKind;
  /** `bad`: somebody is needed now. */
  readonly tone: "bad" | "attention";
  /** Says in one line what is wrong. */
  readonly sentence: string;
  /** What the sentence means, or what to do. */
  readonly advice: readonly string[];
  /** The sentence where anybody may read, if a database's words in sentence or advice may quote a tenant's text. */
  readonly discreet?: string;
  /** The part of the status page that says more. */
  readonly see?: Part;
}

export type Part = "held" | "refresh" | "failing" | "rejected" | "serving";

/** Everything that is wrong, the worst first. What comes from the ledger is worded as in `groupsync status`. */
export function problemsOf(state: DaemonState, now: Date): readonly Problem[] {
  const ofHealth = healthOfState(state, now).flatMap((verdict) => ofVerdict(verdict, state, now));
  const isFailed = ofHealth.some(({ tone }) => tone === "bad");
  const problems = [
    ...ofHealth,
    ...(isFailed ? [] : unreadableLedger(state, now)),
    ...staleness(state, now, isFailed ? "" : retryText(state, now)),
    ...rejectedConfig(state, now),
    ...unreachedAddresses(state, now),
    ...brokenFeeds(state, now),
    ...recentDrift(state),
  ];
  return problems.toSorted((a, b) => Number(b.tone === "bad") - Number(a.tone === "bad"));
}

const bad = (kind: ProblemKind, sentence: string, ...advice: readonly string[]): Problem => ({
  ...{ kind, tone: "bad", sentence },
  advice: advice.filter((line) => line !== ""),
});

const attention = (kind: ProblemKind, sentence: string, ...advice: readonly string[]): Problem => ({
  ...bad(kind, sentence, ...advice),
  tone: "attention",
});

function ofVerdict(
  { kind, sentence, discreet = sentence }: Verdict,
  state: DaemonState,
  now: Date,
): Problem[] {
  const { current, ledger } = state;
  const [last] = pastRuns(state);
  const hint = asSentence(last?.hint ?? "");
  switch (kind) {
    case "failed": {
      // A run that was told to stop is not a failure, even though it counts as failed.
      const wasStopped = last?.result?.error?.code === "INTERRUPTED";
      if (wasStopped && current) return [];
      const advice = [hint, retryText(state, now)];
      const problem = wasStopped ? attention("stopped", sentence, ...advice) : bad(kind, sentence, ...advice);
      return [{ ...problem, discreet }];
    }
    case "unanswered":
      // Still the failure of that run: syncs that had nothing to send have not shown its end.
      return [{ ...bad("failed", sentence, UNANSWERED), discreet }];
    case "killed":
      return current ? [] : [bad(kind, sentence, retryText(state, now))];
    case "held":
      return ledger?.held
        ? [{ ...attention(kind, sentence, LOOK_AT_SOURCE), see: kind }]
        : [attention(kind, sentence, hint || `${LOOK_AT_SOURCE} groupsync plan says more.`)];
    case "refresh":
      return [{ ...attention(kind, sentence, WHO_CHANGES), see: kind }];
    case "rejected":
      return [{ ...attention(kind, sentence, REJECTED), see: kind }];
    case "failing": {
      const isListed = (ledger?.groups.failing ?? 0) > 0;
      const problem = attention(kind, sentence, "Groups that fail are tried again by themselves.");
      return [isListed ? { ...problem, see: kind } : problem];
    }
    case "clocks":
    case "in_doubt":
    case "missing":
    case "outdated":
    case "silent":
    case "wanted":
      return [attention(kind, sentence, ADVICE[kind])];
    case "waiting":
      return [{ ...attention(kind, sentence, waitingText(state)), see: "serving" }];
    case "empty":
    case "running":
    case "well":
      return [];
  }
}

const LOOK_AT_SOURCE = "Look at the source first: are these tenants really gone?";
const WHO_CHANGES =
  "Find out who has deleted these groups or changed their tokens: to ask for a group that is gone makes it again.";
const REJECTED = "The groups of rejected rows stay as they are until somebody corrects the rows.";
const ADVICE = {
  clocks: "Set the clock that is wrong, best by NTP. All else goes on meanwhile.",
  in_doubt:
    "Each sync asks the service for these groups, and stores their live tokens. If somebody ran groupsync sync --refresh, groupsync sync --refresh --cancel takes it back. If the ledger went back in time only because its database was moved without loss: groupsync sync --acknowledge-switchover.",
  missing: `${LOOK_AT_SOURCE} groupsync plan names them, and says when their groups are due.`,
  outdated: "groupsync plan names these groups: their rows have changed, and service.update is never.",
  silent:
    "Is service.api_key still valid? groupsync check tries it; the log says what the daemon gets when it asks.",
  wanted:
    "Somebody has asked for new tokens with groupsync rotate. Every sync goes on with that; groupsync rotate --cancel takes it back.",
};

const UNANSWERED =
  "Whatever ran since then had nothing to send, or got no good answer. The next good answer ends this; groupsync check tries the service now.";

const waitingText = ({ queued }: DaemonState): string =>
  `It has no token yet, or its change isn't made. ${queued ? asSentence(queuedText(queued)) : "The log says what keeps groupsync: the service, its limit, or a database."}`;

function unreadableLedger(state: DaemonState, now: Date): Problem[] {
  if (state.ledger !== null || !state.lastRun) return [];
  return [
    bad("ledger", "The ledger cannot be read.", "Is the database of ledger.url up?", retryText(state, now)),
  ];
}

function staleness(state: DaemonState, now: Date, retry: string): Problem[] {
  const { lastGoodSync, startedAt, staleAt } = state;
  if (now <= staleAt) return [];
  const since = durationText(age(lastGoodSync ?? startedAt, now));
  const sentence = lastGoodSync
    ? `No sync has reached its end for ${since}.`
    : `No sync has reached its end in the ${since} since the start.`;
  return [bad("stale", sentence, whyStale(state), retry)];
}

function whyStale({ standby, current, queued }: DaemonState): string {
  if (standby) return "Another instance holds the lease: see whether it is still at work.";
  const queue = queued ? asSentence(queuedText(queued)) : "";
  if (current) return queue || asSentence(waitOf(current));
  if (queue) return `The next sync begins once the tenants that are served singly are done. ${queue}`;
  return "The log says what became of the runs.";
}

/** What the run that goes on waits for, or may wait for. */
function waitOf({ run, total, waiting }: CurrentRun): string {
  if (waiting) return `the run that goes on waits: ${printable(waiting.reason, LONGEST_LINE)}`;
  if (run === null) return "the run that is about to begin waits for the lease";
  return total === 0
    ? "the run that goes on reads the source, or waits for a database"
    : "the run that goes on waits for the service or a database";
}

function retryText({ nextRun, current }: DaemonState, now: Date): string {
  if (current) return "Another run is going on now.";
  if (nextRun === null) return "";
  return `It is tried again in ${durationText(age(now, nextRun))}; nothing is lost meanwhile.`;
}

/** In lines, and in characters each. The log has the whole report. */
const LONGEST_REPORT = 12;
const LONGEST_LINE = 500;

function rejectedConfig(state: DaemonState, now: Date): Problem[] {
  if (state.rejectedConfig === null) return [];
  const { since, code, message, hint = "" } = state.rejectedConfig;
  const lines = message.split("\n");
  const shown = lines.slice(0, LONGEST_REPORT).map((line) => printable(line.trim(), LONGEST_LINE));
  const sentence = "Needs attention: the new config was rejected, and the old one stays in force.";
  return [
    {
      ...attention(
        "config",
        sentence,
        `${code}: ${shown[0] ?? ""}`,
        ...shown.slice(1),
        lines.length > shown.length ? "The log has the rest." : "",
        asSentence(hint),
        `Since ${agoText(since, now)}. A restart reads the file as it is; after it is corrected, send SIGHUP.`,
      ),
      discreet: sentence,
    },
  ];
}

function unreachedAddresses({ unreached }: DaemonState, now: Date): Problem[] {
  if (unreached.length === 0) return [];
  const keys = unreached.map(({ key }) => key).join(" and ");
  const reasons = unreached.map(
    ({ key, since, message }) => `${key}, since ${agoText(since, now)}: ${printable(message, LONGEST_LINE)}.`,
  );
  const sentence = `Needs attention: ${keys} ${unreached.length === 1 ? "was" : "were"} not reached.`;
  const advice =
    "Nobody was told what they had to say. Syncs go on all the same; groupsync check --notify sends a test to both.";
  return [{ ...attention("unreached", sentence, ...reasons, advice), discreet: sentence }];
}

/** A connection that breaks is back after a moment, as a rule. */
const SHORTEST_BREAK = 60_000;

function brokenFeeds({ serving }: DaemonState, now: Date): Problem[] {
  const broken = brokenFeedsOf(serving).filter(({ since }) => age(since, now) >= SHORTEST_BREAK);
  if (broken.length === 0) return [];
  const keys = broken.map(({ key }) => key).join(" and ");
  const sentence = `Needs attention: ${keys} ${broken.length === 1 ? "doesn't" : "don't"} work.`;
  const advice =
    "Full syncs find what is missed; until the next one, a tenant that only this would notice has no token.";
  return [{ ...attention("unnoticed", sentence, advice), see: "serving" }];
}

/** Drift is healed in the run that finds it, but somebody goes on changing groups. */
function recentDrift({ ledger }: DaemonState): Problem[] {
  if (ledger === null) return [];
  const since = recently(ledger.readAt);
  const found = ledger.history.flatMap(({ result, finishedAt }) =>
    result && finishedAt && finishedAt >= since ? Object.values(result.counts.drift) : [],
  );
  const changes = found.reduce((sum, count) => sum + count, 0);
  if (changes === 0) return [];
  const sentence = `Needs attention: ${quantity(changes, "change")} by somebody else found at the service within 24 hours.`;
  const advice = "Find out who changes groups beside groupsync: the log names each group with its drift.";
  return [attention("drift", sentence, advice)];
}

export const age = (since: Date, now: Date): number => Math.max(0, now.getTime() - since.getTime());

export const agoText = (since: Date, now: Date): string => `${durationText(age(since, now))} ago`;
