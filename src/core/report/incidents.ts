import { isAlarming, recently, wentMissingText } from "../deletion/missing-tenants.ts";
import { LONGEST_SILENCE, refreshHoldText } from "../drift/refresh.ts";
import { isClockDifference, isHandOver, isInterruption } from "../failure/sync-error.ts";
import { rejectedRows } from "../group/rejections.ts";
import { asSentence, printable } from "../text/printable.ts";
import { durationText, quantity } from "../text/quantity.ts";
import { FORGET } from "./forgotten.ts";
import {
  failingDetails,
  heldDetails,
  heldRefreshDetails,
  type IncidentDetails,
  rejectedDetails,
} from "./incident-details.ts";
import { queuedText } from "./progress.ts";
import type { PastRun, ScopeFacts } from "./scope-facts.ts";

/** From `good` (nothing to do) to `bad` (somebody is needed now). */
export type Tone = "good" | "idle" | "busy" | "attention" | "bad";

/** What is said first of a scope. */
export interface Headline {
  readonly tone: Tone;
  /** For people, in one line. */
  readonly sentence: string;
  /** What the sentence means, or what to do. */
  readonly advice: readonly string[];
}

type IncidentKind =
  | ("failed" | "stopped" | "killed" | "waiting" | "silent" | "clocks" | "held" | "refresh")
  | ("missing" | "rejected" | "failing" | "in_doubt" | "wanted" | "outdated")
  | ("ledger" | "stale" | "config" | "unreached" | "unnoticed" | "drift");

/** One thing that is wrong. */
export interface Incident extends Headline {
  readonly kind: IncidentKind;
  readonly tone: "bad" | "attention";
  /** The sentence where anybody may read, if a database's words in sentence or advice may quote a tenant's text. */
  readonly discreet?: string;
  /** Set if it is known, and the sentence doesn't say it. */
  readonly since?: Date;
  /** Which groups or rows, and the command that helps. */
  readonly details?: IncidentDetails;
}

/**
 * Everything that is wrong, the worst first. `status`, the status page, `/readyz` and `notify.webhook` only draw this list: what
 * is wrong is decided and worded here.
 */
export function incidentsOf(facts: ScopeFacts, now: Date): readonly Incident[] {
  const ofRuns = [...incidentsOfRuns(facts, now)];
  const hasFailed = ofRuns.some(({ tone }) => tone === "bad");
  // What has failed says already when it is tried again.
  const retry = hasFailed ? "" : retryText(facts, now);
  const incidents = [
    ...ofRuns,
    ...incidentsOfService(facts, now),
    ...incidentsOfGroups(facts),
    ...(facts.ledger === null && facts.runs.length > 0 && !hasFailed
      ? [bad("ledger", "The ledger cannot be read.", "Is the database of ledger.url up?", retry)]
      : []),
    ...incidentsOfDaemon(facts, retry, now),
  ];
  return incidents.toSorted((a, b) => Number(b.tone === "bad") - Number(a.tone === "bad"));
}

/** What is said of a scope with which nothing is wrong. */
export function headlineIfWell({ ledger, runs, daemon }: ScopeFacts, now: Date): Headline {
  const { in_sync, total, missing } = ledger?.groups ?? { in_sync: 0, total: 0, missing: 0 };
  const makesNoGroups = runs.every(({ command }) => command === FORGET || command === "probe");
  const isEmpty = runs.length === 0 || (total === 0 && makesNoGroups);
  const isAboutToBegin = daemon?.current?.run === null;
  if (daemon?.current || runs[0]?.result === null) {
    const goesOn = isAboutToBegin ? "A run is about to begin." : "A run is going on.";
    return headline("busy", goesOn, isEmpty ? "It is the first one: nothing has been synced yet." : "");
  }
  if (daemon?.standby)
    return headline(
      "idle",
      "Standing by: another instance is at work.",
      "This one takes over when the other one ends or its lease expires.",
    );
  if (daemon?.nextRun === null) return headline("idle", "It has been told to stop.");
  if (isEmpty) {
    const due = daemon?.nextRun ? `The first sync is due in ${durationText(age(now, daemon.nextRun))}.` : "";
    return headline("idle", "Nothing has been synced yet.", due);
  }
  const inSync = `${in_sync} of ${quantity(total, "group")} ${in_sync === 1 ? "is" : "are"} in sync`;
  const gone = missing === 1 ? "the tenant of 1 is gone" : `the tenants of ${missing} are gone`;
  return headline("good", "All is well.", ledger ? `${inSync}${missing > 0 ? `; ${gone}` : ""}.` : "");
}

const headline = <T extends Tone>(tone: T, sentence: string, ...advice: readonly string[]) => ({
  tone,
  sentence,
  advice: advice.filter((line) => line !== ""),
});

const bad = (kind: IncidentKind, sentence: string, ...advice: readonly string[]): Incident => ({
  kind,
  ...headline("bad", sentence, ...advice),
});

/** `what` has neither a capital letter nor an end. */
const attention = (
  kind: IncidentKind,
  what: string,
  advice: string | readonly string[],
  more: Pick<Incident, "since" | "details"> = {},
): Incident => ({ kind, ...headline("attention", `Needs attention: ${what}.`, ...[advice].flat()), ...more });

function* incidentsOfRuns(facts: ScopeFacts, now: Date): Generator<Incident> {
  const { unanswered, ledger, daemon } = facts;
  const run = decidingRun(facts);
  const { outcome, error } = run?.result ?? {};
  const retry = retryText(facts, now);
  const isKilled = withoutHandedOver(facts)[0]?.result === null && !ledger?.lease;
  const hasFailed = !isKilled && outcome === "failed";
  // A run that was told to stop has shown nothing, and is no failure, even though it counts as failed.
  const wasStopped = hasFailed && error !== null && error !== undefined && isInterruption(error);
  const sentence = "The last run was killed; the next one settles what it left.";
  if (isKilled && !daemon?.current) yield bad("killed", sentence, retry);
  // What the service has done to a run lasts until it gives a good answer, however later runs end.
  if (unanswered && (!hasFailed || wasStopped))
    yield failure(unanswered, "The service made a", "fail, and has given no good answer since", UNANSWERED);
  else if (run && hasFailed && !(wasStopped && daemon?.current)) {
    const failed = failure(run, "The last", "failed", asSentence(error?.hint ?? ""), retry);
    yield wasStopped ? { ...failed, kind: "stopped", tone: "attention" } : failed;
  }
}

function failure(
  { command, result }: PastRun,
  before: string,
  after: string,
  ...advice: readonly string[]
): Incident {
  const { code, message } = result?.error ?? { code: "INTERNAL", message: "unknown" };
  const what = `${before} ${command} ${after}`;
  return { ...bad("failed", `${what}: ${printable(message)}`, ...advice), discreet: `${what}: ${code}` };
}

const UNANSWERED =
  "Whatever ran since then had nothing to send, or got no good answer. The next good answer ends this; groupsync check tries the service now.";

const LONGEST = 500;
/** How long a tenant may wait before something is wrong, in milliseconds. */
const LONGEST_WAIT = 60_000;

/** What keeps all groups from being served as they should. */
function* incidentsOfService(facts: ScopeFacts, now: Date): Generator<Incident> {
  const { serving, daemon, ledger } = facts;
  if (serving && serving.oldestMs > LONGEST_WAIT)
    yield attention(
      "waiting",
      `a tenant has been waiting for ${durationText(serving.oldestMs)}`,
      `It has no token yet, or its change isn't made. ${queueOf(daemon) || "The log says what keeps groupsync: the service, its limit, or a database."}`,
    );
  // No command asks the service, so its silence means nothing there.
  if (daemon && !daemon.standby && ledger && ledger.service.teamId !== null) {
    const { startedAt, lastAnswer, lastGoodSync, staleAt } = daemon;
    const ms = age(lastAnswer ?? startedAt, now);
    // A daemon asks after an hour, or with its next sync: by then it has asked twice, or is stale.
    const syncsWithinMs = age(lastGoodSync ?? startedAt, staleAt);
    if (ms > LONGEST_SILENCE + Math.max(LONGEST_SILENCE, syncsWithinMs))
      yield attention(
        "silent",
        `the service has given no good answer for ${durationText(ms)}`,
        "Is service.api_key still valid? groupsync check tries it; the log says what the daemon gets when it asks.",
      );
  }
  const error = decidingRun(facts)?.result?.error;
  if (error && isClockDifference(error))
    yield attention(
      "clocks",
      printable(error.message, LONGEST),
      "Set the clock that is wrong, best by NTP. All else goes on meanwhile.",
    );
}

const LOOK_AT_SOURCE = "Look at the source first: are these tenants really gone?";

function* incidentsOfGroups(facts: ScopeFacts): Generator<Incident> {
  const { ledger, serving, runs } = facts;
  yield* removalsHeld(facts);
  if (ledger?.refreshHold)
    yield attention(
      "refresh",
      refreshHoldText(ledger.refreshHold),
      "Find out who has deleted these groups or changed their tokens: to ask for a group that is gone makes it again.",
      { details: heldRefreshDetails(ledger.refreshHold) },
    );
  if (ledger && isAlarming(ledger.missing))
    yield attention(
      "missing",
      wentMissingText(ledger.missing),
      `${LOOK_AT_SOURCE} groupsync plan names them, and says when their groups are due.`,
    );
  if (ledger && ledger.rejected.length > 0)
    yield attention(
      "rejected",
      quantity(rejectedRows(ledger.rejected), "rejected row"),
      "The groups of rejected rows stay as they are until somebody corrects the rows.",
      { details: rejectedDetails(ledger.rejected) },
    );
  const { failing, in_doubt, wanted } = ledger?.groups ?? { failing: 0, in_doubt: 0, wanted: 0 };
  const lastEnded = runs.find(({ result }) => result !== null)?.result;
  // The last run, and the single tenants since then, may know of more than the ledger.
  const allFailing = Math.max(failing, serving?.failing ?? 0, lastEnded?.counts.failed ?? 0);
  if (allFailing > 0)
    yield attention(
      "failing",
      quantity(allFailing, "failing group"),
      "Groups that fail are tried again by themselves.",
      ledger && failing > 0 ? { details: failingDetails(ledger.failing, failing) } : {},
    );
  if (in_doubt > 0)
    yield attention(
      "in_doubt",
      `${quantity(in_doubt, "group")} in doubt, and to be asked for again`,
      "Each sync asks the service for these groups, and stores their live tokens. If somebody ran groupsync sync --refresh, groupsync sync --refresh --cancel takes it back. If the ledger went back in time only because its database was moved without loss: groupsync sync --acknowledge-switchover.",
    );
  const isRotating = ledger?.lease && runs[0]?.command === "rotate" && runs[0].result === null;
  if (wanted > 0 && !isRotating)
    yield attention(
      "wanted",
      `${quantity(wanted, "new token")} wanted`,
      "Somebody has asked for new tokens with groupsync rotate. Every sync goes on with that; groupsync rotate --cancel takes it back.",
    );
  const outdated = decidingRun(facts)?.result?.counts.outdated ?? 0;
  if (outdated > 0)
    yield attention(
      "outdated",
      quantity(outdated, "outdated group"),
      "groupsync plan names these groups: their rows have changed, and service.update is never.",
    );
}

function* removalsHeld(facts: ScopeFacts): Generator<Incident> {
  const held = facts.ledger?.held;
  const { outcome, error } = decidingRun(facts)?.result ?? {};
  // The refresh and the clocks are incidents of their own.
  const isTold = outcome === "held" && error && error.code !== "REFRESH_HELD" && !isClockDifference(error);
  const message = isTold ? printable(error.message, LONGEST) : "";
  if (held) {
    const onlyReplaced = held.groups.length > 0 && held.groups.every(({ kind }) => kind === "replace");
    const advice = onlyReplaced
      ? "Each of these groups gets a new token: will your application read it?"
      : LOOK_AT_SOURCE;
    yield attention("held", message || `${quantity(held.count, "removal")} held`, advice, {
      details: heldDetails(held),
    });
  } else if (isTold)
    yield attention(
      "held",
      message,
      asSentence(error.hint ?? "") || `${LOOK_AT_SOURCE} groupsync plan says more.`,
    );
}

/** In lines. The log has the whole report. */
const LONGEST_REPORT = 12;
/** A connection that breaks is back after a moment, as a rule. */
const SHORTEST_BREAK = 60_000;

function* incidentsOfDaemon({ daemon, ledger }: ScopeFacts, retry: string, now: Date): Generator<Incident> {
  if (!daemon) return;
  const { staleAt, lastGoodSync, startedAt, rejectedConfig, unreached } = daemon;
  if (now > staleAt) {
    const since = durationText(age(lastGoodSync ?? startedAt, now));
    const when = lastGoodSync ? `for ${since}` : `in the ${since} since the start`;
    yield bad("stale", `No sync has reached its end ${when}.`, whyStale(daemon), retry);
  }
  if (rejectedConfig) {
    const { since, code, message, hint = "" } = rejectedConfig;
    const lines = `${code}: ${message}`.split("\n").map((line) => printable(line.trim(), LONGEST));
    const incident = attention(
      "config",
      "the new config was rejected, and the old one stays in force",
      [
        ...lines.slice(0, LONGEST_REPORT),
        lines.length > LONGEST_REPORT ? "The log has the rest." : "",
        asSentence(hint),
        "A restart reads the file as it is; after it is corrected, send SIGHUP.",
      ],
      { since },
    );
    yield { ...incident, discreet: incident.sentence };
  }
  if (unreached.length > 0)
    yield attention(
      "unreached",
      `${namesOf(unreached)} ${unreached.length === 1 ? "was" : "were"} not reached`,
      [
        ...unreached.map(({ key, message }) => `${key}: ${printable(message, LONGEST)}.`),
        "Nobody was told what they had to say. Syncs go on all the same; groupsync check --notify sends a test to both.",
      ],
      { since: firstOf(unreached) },
    );
  const broken = daemon.brokenFeeds.filter(({ since }) => age(since, now) >= SHORTEST_BREAK);
  if (broken.length > 0)
    yield attention(
      "unnoticed",
      `${namesOf(broken)} ${broken.length === 1 ? "doesn't" : "don't"} work`,
      "Full syncs find what is missed; until the next one, a tenant that only this would notice has no token.",
      { since: firstOf(broken) },
    );
  // Drift is healed in the run that finds it, but somebody goes on changing groups.
  const drift = ledger ? driftSince(recently(ledger.readAt), ledger.history ?? []) : 0;
  if (drift > 0)
    yield attention(
      "drift",
      `${quantity(drift, "change")} by somebody else found at the service within 24 hours`,
      "Find out who changes groups beside groupsync: the log names each group with its drift.",
    );
}

const namesOf = (all: readonly { readonly key: string }[]): string => all.map(({ key }) => key).join(" and ");

const firstOf = (all: readonly { readonly since: Date }[]): Date =>
  new Date(Math.min(...all.map(({ since }) => since.getTime())));

const driftSince = (since: Date, history: readonly PastRun[]): number =>
  history
    .flatMap(({ result, finishedAt }) =>
      result && finishedAt && finishedAt >= since ? Object.values(result.counts.drift) : [],
    )
    .reduce((sum, count) => sum + count, 0);

function whyStale(daemon: NonNullable<ScopeFacts["daemon"]>): string {
  const { standby, current } = daemon;
  if (standby) return "Another instance holds the lease: see whether it is still at work.";
  const queue = queueOf(daemon);
  if (!current) {
    if (queue) return `The next sync begins once the tenants that are served singly are done. ${queue}`;
    return "The log says what became of the runs.";
  }
  if (queue) return queue;
  const reason = current.waiting?.reason ?? "perhaps for the lease, the service or a database";
  return `The run that goes on waits: ${printable(reason, LONGEST)}.`;
}

const queueOf = (daemon: ScopeFacts["daemon"]): string =>
  daemon?.queued ? asSentence(queuedText(daemon.queued)) : "";

/** A sync that handed its lease over goes on in the daemon's next run, which says how it ended. */
const withoutHandedOver = ({ runs }: ScopeFacts): readonly PastRun[] =>
  runs.filter(({ result }) => !(result?.error && isHandOver(result.error)));

/**
 * The run that decides: the last one that has ended, because a run that goes on has shown nothing yet. A rotation reads no
 * rows, so the last sync counts after a good rotation.
 */
function decidingRun(facts: ScopeFacts): PastRun | undefined {
  const ended = withoutHandedOver(facts).filter(({ result }) => result !== null);
  const [last] = ended;
  if (last?.result?.outcome === "failed") return last;
  return ended.find(({ command }) => command === "sync") ?? last;
}

function retryText({ daemon }: ScopeFacts, now: Date): string {
  if (daemon?.current) return "Another run is going on now.";
  if (!daemon?.nextRun) return "";
  return `It is tried again in ${durationText(age(now, daemon.nextRun))}; nothing is lost meanwhile.`;
}

export const age = (since: Date, now: Date): number => Math.max(0, now.getTime() - since.getTime());
