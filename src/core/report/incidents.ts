import { isAlarming, recently, wentMissingText } from "../deletion/missing-tenants.ts";
import { approveRefreshCommand, LONGEST_SILENCE, refreshHoldText } from "../drift/refresh.ts";
import { errorHelp, remedyOf } from "../failure/error-codes.ts";
import { isClockDifference, isHandOver, isInterruption } from "../failure/sync-error.ts";
import { rejectedRows } from "../group/rejections.ts";
import { asSentence, printable } from "../text/printable.ts";
import { durationText, quantity } from "../text/quantity.ts";
import { type Card, type Concerned, cardOf, type Help, type Tone } from "./card.ts";
import { FORGET } from "./forgotten.ts";
import { earliest, failingDetails, heldDetails, owingDetails, rejectedDetails } from "./incident-details.ts";
import {
  type DaemonState,
  factsOf,
  type LastingFailure,
  type LedgerStatus,
  oldestWaitMs,
  type PastRun,
  runsOf,
  type ScopeFacts,
  unansweredRun,
} from "./scope-facts.ts";

type IncidentKind =
  | ("failed" | "stopped" | "killed" | "waiting" | "silent" | "clocks" | "held" | "refresh")
  | ("missing" | "rejected" | "failing" | "in_doubt" | "wanted" | "outdated")
  | ("ledger" | "stale" | "config" | "unreached" | "unnoticed" | "drift");

export interface Incident extends Card {
  readonly kind: IncidentKind;
  readonly tone: "bad" | "attention";
  readonly advice: readonly string[];
  /** The sentence where anybody may read, if a database's words in sentence or advice may quote a tenant's text. */
  readonly discreet?: string;
}

/**
 * Everything that is wrong, the worst first. `status`, the status page, `/readyz` and `notify.webhook` only draw this list: what
 * is wrong is decided and worded here.
 */
export function incidentsOf(facts: ScopeFacts, now: Date): readonly Incident[] {
  const incidents = [
    ...incidentsOfRuns(facts),
    ...incidentsOfService(facts, now),
    ...incidentsOfGroups(facts),
    ...incidentsOfDaemon(facts, now),
  ];
  return incidents.toSorted((a, b) => Number(b.tone === "bad") - Number(a.tone === "bad"));
}

export const incidentsOfState = (state: DaemonState, now: Date): readonly Incident[] =>
  incidentsOf(factsOf(state), now);

/** What is said of a scope with which nothing is wrong. */
export function wellCard(facts: ScopeFacts, now: Date): Card {
  const { ledger, daemon } = facts;
  const runs = runsOf(facts);
  const { in_sync, total, missing } = ledger?.groups ?? { in_sync: 0, total: 0, missing: 0 };
  const makesNoGroups = runs.every(({ command }) => command === FORGET || command === "probe");
  const isEmpty = runs.length === 0 || (total === 0 && makesNoGroups);
  const well = (tone: Tone, sentence: string, ...advice: string[]): Card =>
    cardOf("well", tone, sentence, { advice });
  if (daemon?.current?.run === null) return well("busy", "A run is about to begin.");
  if (daemon?.current || runs[0]?.result === null)
    return well("busy", `A run is going on.${isEmpty ? " It is the first one." : ""}`);
  if (daemon?.standby)
    return well(
      "idle",
      "Standing by: another instance is at work.",
      "This one takes over when the other one ends or its lease expires.",
    );
  if (daemon?.nextRun === null) return well("idle", "It has been told to stop.");
  if (isEmpty) {
    const due = daemon?.nextRun ? ` The first sync is due in ${durationText(age(now, daemon.nextRun))}.` : "";
    return well("idle", `Nothing has been synced yet.${due}`);
  }
  const inSync = `${in_sync} of ${quantity(total, "group")} ${in_sync === 1 ? "is" : "are"} in sync`;
  const gone = missing === 1 ? "; the tenant of 1 is gone" : `; the tenants of ${missing} are gone`;
  return well("good", "All is well.", `${inSync}${missing > 0 ? gone : ""}.`);
}

/** What an incident says beside its sentence and advice. */
type More = Partial<Pick<Incident, "code" | "discreet" | "since" | "help" | "concerned">>;

const bad = (kind: IncidentKind, sentence: string, advice: readonly string[], more: More = {}): Incident => ({
  ...{ kind, tone: "bad", sentence, code: null, help: [], ...more },
  advice: advice.filter((line) => line !== ""),
});

/** `what` has neither a capital letter nor an end. */
const attention = (kind: IncidentKind, what: string, advice: readonly string[], more?: More): Incident => ({
  ...{ ...bad(kind, `Needs attention: ${what}.`, advice, more), tone: "attention" },
});

/** What `groupsync help` says of a code. */
function explained(code: string): readonly string[] {
  const { meaning = "", action = "" } = errorHelp(code) ?? {};
  return [asSentence(meaning), asSentence(action)];
}

const CHECK: Help = { when: "To try it now", command: "groupsync check" };

function* incidentsOfRuns(facts: ScopeFacts): Generator<Incident> {
  const { ledger, daemon } = facts;
  const run = decidingRun(facts);
  const unanswered = unansweredRun(facts);
  const { outcome, error } = run?.result ?? {};
  const retry = daemon?.nextRun ? "It is tried again by itself; nothing is lost meanwhile." : "";
  const runs = withoutHandedOver(facts);
  // No other run does what a full sync has left.
  const killed = [runs[0], runs.find(({ command }) => command === "sync")].find(
    (one) => one?.result === null,
  );
  const isKilled = killed !== undefined && !ledger?.lease;
  const isOutdated = isKilled && run !== undefined && run.startedAt < killed.startedAt;
  const hasFailed = !isOutdated && outcome === "failed";
  // A run that was told to stop has shown nothing, and is no failure, even though it counts as failed.
  const wasStopped = hasFailed && error !== null && error !== undefined && isInterruption(error);
  if (isKilled && !daemon?.current) {
    const sentence = `The last ${killed.command === "sync" ? "sync" : "run"} was killed; the next sync settles what it left.`;
    yield bad("killed", sentence, [retry], { since: killed.startedAt });
  }
  // What the service has done to a run lasts until it gives a good answer, however later runs end.
  if (unanswered && (!hasFailed || wasStopped)) {
    const told = failure(facts, unanswered, "The service made a", "fail, and has given no good answer since");
    yield { ...told, advice: [UNANSWERED], help: [CHECK] };
  } else if (run && hasFailed && !(wasStopped && daemon?.current)) {
    const failed = failure(facts, run, "The last", "failed", retry);
    yield wasStopped ? { ...failed, kind: "stopped", tone: "attention" } : failed;
  } else if (ledger === null && run && !isKilled) {
    const more = { code: "LEDGER_UNAVAILABLE", help: [CHECK] };
    yield bad("ledger", "The ledger cannot be read.", ["Is the database of ledger.url up?"], more);
  }
}

const UNANSWERED =
  "Whatever ran since then had nothing to send, or got no good answer. The next good answer ends this.";

function failure(facts: ScopeFacts, run: PastRun, before: string, after: string, retry = ""): Incident {
  const { code, message, hint } = run.result?.error ?? { code: "INTERNAL", message: "unknown" };
  const what = `${before} ${run.command} ${after}`;
  // The ledger keeps no hints.
  const { advice, help } = adviceIn(hint ?? remedyOf(code));
  return bad("failed", `${what}: ${printable(message)}`, [...advice, retry], {
    ...{ code, help, discreet: `${what}: ${code}` },
    since: streakSince(facts, ({ outcome, error }) => outcome === "failed" && error?.code === code),
    concerned: waitingDetails(facts.ledger),
  });
}

/** The tenants whose first change was not made. The others keep their tokens while nothing works. */
function waitingDetails(ledger: LedgerStatus | null): Concerned | undefined {
  const waiting = ledger?.owing.filter(({ user_group_id }) => ledger.tokenless.has(user_group_id)) ?? [];
  if (ledger === null || waiting.length === 0) return undefined;
  return owingDetails("under way", waiting.length, { ...ledger, owing: waiting });
}

/** A statement for a database, as hints have it: from its first word to the end, or to the next words in small letters. */
const STATEMENT = /(?<=^|; |: |\bor )(?:GRANT|REVOKE|ALTER|CREATE) .+?(?=; [a-z]|$)/su;

/** Takes the statements out of a hint, to be copied. */
function adviceIn(hint: string): { readonly advice: readonly string[]; readonly help: readonly Help[] } {
  const command = STATEMENT.exec(hint)?.[0];
  if (command === undefined) return { advice: [asSentence(hint)], help: [] };
  const parts = hint.split(command).map((part) => part.replace(/^[;:, ]+|[;:, ]+$/g, ""));
  return { advice: parts.map(asSentence), help: [{ when: "As a user of the database who may", command }] };
}

/**
 * Since when the runs end in this way, up to the last one; undefined if nobody knows. Runs that were told to stop or handed their
 * lease over have shown nothing.
 */
function streakSince(
  facts: ScopeFacts,
  isSo: (result: NonNullable<PastRun["result"]>) => boolean,
): Date | undefined {
  let since: Date | undefined;
  for (const { command, finishedAt, result } of runsOf(facts)) {
    if (!result || !finishedAt || command === "probe" || (result.error && isInterruption(result.error)))
      continue;
    if (!isSo(result)) return since;
    if (since === undefined || finishedAt < since) since = finishedAt;
  }
  return since;
}

const whatItWaitsFor = ({ daemon }: ScopeFacts): string =>
  daemon?.standby
    ? "Another instance holds the lease: see whether that instance is still at work."
    : "The log says what groupsync waits for.";

const LONGEST = 500;
/** How long a tenant may wait before something is wrong, in milliseconds. */
const LONGEST_WAIT = 60_000;

/** What keeps all groups from being served as they should. */
function* incidentsOfService(facts: ScopeFacts, now: Date): Generator<Incident> {
  const { daemon, ledger } = facts;
  const waitedMs = oldestWaitMs(facts);
  if (waitedMs > LONGEST_WAIT)
    yield attention(
      "waiting",
      `a tenant has been waiting for ${durationText(waitedMs)}`,
      ["It has no token yet, or its change isn't made.", whatItWaitsFor(facts)],
      { since: new Date(now.getTime() - waitedMs), concerned: waitingDetails(ledger) },
    );
  // No command asks the service, so its silence means nothing there.
  if (daemon && !daemon.standby && ledger && ledger.service.teamId !== null) {
    const { startedAt, lastAnswer, lastGoodSync, staleAt } = daemon;
    const since = lastAnswer ?? startedAt;
    const ms = age(since, now);
    // A daemon asks after an hour, or with its next sync: by then it has asked twice, or is stale.
    const syncsWithinMs = age(lastGoodSync ?? startedAt, staleAt);
    if (ms > LONGEST_SILENCE + Math.max(LONGEST_SILENCE, syncsWithinMs))
      yield attention(
        "silent",
        `the service has given no good answer for ${durationText(ms)}`,
        ["Is service.api_key still valid? The log says what the daemon gets when it asks."],
        { since, help: [CHECK] },
      );
  }
  const error = decidingRun(facts)?.result?.error;
  if (error && isClockDifference(error))
    yield attention(
      "clocks",
      printable(error.message, LONGEST),
      [asSentence(remedyOf(error.code)), "All else goes on meanwhile."],
      { code: error.code, since: streakSince(facts, (result) => result.error?.code === error.code) },
    );
}

const LOOK_AT_SOURCE = "Look at the source first: are these tenants really gone?";

function* incidentsOfGroups(facts: ScopeFacts): Generator<Incident> {
  const { ledger, daemon } = facts;
  const runs = runsOf(facts);
  yield* removalsHeld(facts);
  const lastEnded = runs.find(({ result }) => result !== null)?.result;
  const { failing, in_doubt, wanted } = ledger?.groups ?? { failing: 0, in_doubt: 0, wanted: 0 };
  // The last run, and the single tenants since then, may know of more than the ledger.
  const served = daemon?.standby ? 0 : (daemon?.serving?.failing ?? 0);
  const allFailing = Math.max(failing, served, lastEnded?.counts.failed ?? 0);
  if (ledger?.refreshHold)
    yield attention(
      "refresh",
      refreshHoldText(ledger.refreshHold),
      [
        "Find out who has deleted these groups or changed their tokens: to ask for a group that is gone makes it again.",
      ],
      {
        code: "REFRESH_HELD",
        help: [
          {
            when: "If the refresh is to go on; the code is good until a refresh finds another such group",
            command: approveRefreshCommand(ledger.refreshHold.approval),
          },
        ],
      },
    );
  if (ledger && isAlarming(ledger.missing))
    yield attention("missing", wentMissingText(ledger.missing), [LOOK_AT_SOURCE], {
      help: [{ when: "Who they are, and when their groups are due", command: "groupsync plan" }],
    });
  if (ledger && ledger.rejected.length > 0)
    yield attention(
      "rejected",
      quantity(rejectedRows(ledger.rejected), "rejected row"),
      ["The groups of rejected rows stay as they are until somebody corrects the rows."],
      { since: earliest(ledger.rejected.map(({ since }) => since)), concerned: rejectedDetails(ledger) },
    );
  if (allFailing > 0)
    yield attention(
      "failing",
      quantity(allFailing, "failing group"),
      ["Groups that fail are tried again by themselves."],
      ledger && ledger.failing.length > 0
        ? { since: earliest(ledger.failing.map(({ since }) => since)), concerned: failingDetails(ledger) }
        : {},
    );
  if (ledger && in_doubt > 0)
    yield attention(
      "in_doubt",
      `${quantity(in_doubt, "group")} in doubt, and to be asked for again`,
      explained("IN_DOUBT"),
      { code: "IN_DOUBT", help: OUT_OF_DOUBT, concerned: owingDetails("doubted", in_doubt, ledger) },
    );
  const isRotating = ledger?.lease && runs[0]?.command === "rotate" && runs[0].result === null;
  if (ledger && wanted > 0 && !isRotating) {
    const times = ledger.owing.flatMap(({ wantedSince }) => wantedSince ?? []);
    yield attention(
      "wanted",
      `${quantity(wanted, "new token")} wanted`,
      ["Somebody has asked for these rotations. Every sync goes on with them."],
      {
        since: times.length > 0 ? earliest(times) : undefined,
        help: [{ when: "To take it back", command: "groupsync rotate --cancel" }],
        concerned: owingDetails("wanted", wanted, ledger),
      },
    );
  }
  const outdated = decidingRun(facts)?.result?.counts.outdated ?? 0;
  if (outdated > 0)
    yield attention("outdated", quantity(outdated, "outdated group"), explained("OUTDATED"), {
      code: "OUTDATED",
      help: [{ when: "Which they are", command: "groupsync plan" }],
    });
}

const OUT_OF_DOUBT: readonly Help[] = [
  { when: "To ask for them now", command: "groupsync sync" },
  { when: "If the refresh was a mistake", command: "groupsync sync --refresh --cancel" },
  {
    when: "If the ledger went back in time only because its database was moved without loss",
    command: "groupsync sync --acknowledge-switchover",
  },
];

function* removalsHeld(facts: ScopeFacts): Generator<Incident> {
  const held = facts.ledger?.held ?? null;
  const run = decidingRun(facts);
  const { outcome, error = null } = run?.result ?? {};
  // The refresh and the clocks are incidents of their own.
  const isTold = outcome === "held" && error && error.code !== "REFRESH_HELD" && !isClockDifference(error);
  // A ledger that was read before the end of that run knows nothing of what it held.
  const isReadSince = facts.ledger?.runs.some(({ id, result }) => id === run?.id && result !== null);
  // Some of what that run held may have been released since: then only the groups that are still held count.
  const isPast = error?.code === "DELETIONS_HELD" && isReadSince && !held?.code;
  const told = isTold && !isPast ? error : null;
  if (held === null && told === null) return;
  const onlyReplaced = held !== null && held.groups.length > 0 && held.groups.every(isReplaced);
  const ofSource = held === null ? asSentence(told?.hint ?? "") || LOOK_AT_SOURCE : LOOK_AT_SOURCE;
  const message = told ? printable(told.message, LONGEST) : `${quantity(held?.count ?? 0, "removal")} held`;
  const advice = onlyReplaced
    ? "Each of these groups gets a new token: will your application read it?"
    : ofSource;
  yield attention("held", message, [advice], {
    code: told?.code ?? "DELETIONS_HELD",
    since: told ? streakSince(facts, (result) => result.error?.code === told.code) : undefined,
    help: [
      held?.code
        ? {
            when: "If they are meant to go; the code approves exactly these, once",
            command: `groupsync sync --approve-deletions ${held.code}`,
          }
        : { when: "What the next sync would do, and what approves it", command: "groupsync plan" },
    ],
    concerned: facts.ledger && held ? heldDetails(held, facts.ledger) : undefined,
  });
}

const isReplaced = ({ kind }: { readonly kind: string }): boolean => kind === "replace";

/** In lines. The log has the whole report. */
const LONGEST_REPORT = 12;
/** A connection that breaks is back after a moment, as a rule. */
const SHORTEST_BREAK = 60_000;

function* incidentsOfDaemon(facts: ScopeFacts, now: Date): Generator<Incident> {
  const { daemon, ledger } = facts;
  if (!daemon) return;
  const { staleAt, lastGoodSync, startedAt, rejectedConfig, unreached } = daemon;
  if (now > staleAt) {
    const since = lastGoodSync ?? startedAt;
    const ms = durationText(age(since, now));
    const when = lastGoodSync ? `for ${ms}` : `in the ${ms} since the start`;
    yield bad("stale", `No sync has reached its end ${when}.`, [whatItWaitsFor(facts)], { since });
  }
  if (rejectedConfig) {
    const { since, code, message, hint = "" } = rejectedConfig;
    const lines = `${code}: ${message}`.split("\n").map((line) => printable(line.trim(), LONGEST));
    const what = "the new config was rejected, and the old one stays in force";
    const advice = [
      ...lines.slice(0, LONGEST_REPORT),
      lines.length > LONGEST_REPORT ? "The log has the rest." : "",
      asSentence(hint),
      "A restart reads the file as it is; after it is corrected, send SIGHUP.",
    ];
    const discreet = `Needs attention: ${what}.`;
    yield attention("config", what, advice, { code, since, discreet });
  }
  yield* broken("unreached", unreached, "not reached", ["Syncs go on all the same."], {
    code: "NOTIFY_FAILED",
    help: [{ when: "To send a test to both", command: "groupsync check --notify" }],
  });
  const feeds = brokenFeeds(daemon).filter(({ since }) => age(since, now) >= SHORTEST_BREAK);
  yield* broken("unnoticed", feeds, "out of order", [MISSED], { code: feeds[0]?.code ?? null });
  // Drift is healed in the run that finds it, but somebody goes on changing groups.
  const drift = ledger ? driftSince(recently(ledger.readAt), runsOf(facts)) : 0;
  if (drift > 0)
    yield attention(
      "drift",
      `${quantity(drift, "change")} by somebody else found at the service within 24 hours`,
      ["Find out who changes groups beside groupsync: the log names each group with its drift."],
    );
}

const MISSED =
  "Full syncs find what is missed; until the next one, a tenant that only this would notice has no token.";

/** What the config names by these keys doesn't work. */
function* broken(
  kind: IncidentKind,
  all: readonly (Omit<LastingFailure, "code"> & { readonly key: string })[],
  how: string,
  advice: readonly string[],
  more: More,
): Generator<Incident> {
  if (all.length === 0) return;
  const names = all.map(({ key }) => key).join(" and ");
  const messages = all.map(({ key, message }) => `${key}: ${printable(message, LONGEST)}.`);
  const hints = all.map(({ hint = "" }) => asSentence(hint));
  yield attention(
    kind,
    `${names} ${all.length === 1 ? "is" : "are"} ${how}`,
    [...messages, ...hints, ...advice],
    { since: earliest(all.map(({ since }) => since)), ...more },
  );
}

/** The feeds of changed tenants that don't work. What they would notice waits for the next full sync. */
const brokenFeeds = ({ serving }: DaemonState) =>
  Object.entries(serving?.feeds ?? {}).flatMap(([feed, state]) =>
    state?.failure ? [{ key: `source.changes.${feed}`, ...state.failure }] : [],
  );

const driftSince = (since: Date, runs: readonly PastRun[]): number =>
  runs
    .flatMap(({ result, finishedAt }) =>
      result && finishedAt && finishedAt >= since ? Object.values(result.counts.drift) : [],
    )
    .reduce((sum, count) => sum + count, 0);

/** A sync that handed its lease over goes on in the daemon's next run, which says how it ended. */
const withoutHandedOver = (facts: ScopeFacts): readonly PastRun[] =>
  runsOf(facts).filter(({ result }) => !(result?.error && isHandOver(result.error)));

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

export const age = (since: Date, now: Date): number => Math.max(0, now.getTime() - since.getTime());
