import { FAILED_BY_SERVICE } from "../failure/service-failure.ts";
import type { Tone } from "./card.ts";
import {
  type DaemonState,
  isGoodSync,
  type PastRun,
  runsOf,
  type ScopeFacts,
  unansweredRun,
} from "./scope-facts.ts";

/** Something that groupsync needs, and what is known of it: the last good contact, and the last error. Holds no secret. */
export interface Dependency {
  readonly name: string;
  /** The last good one; null if none is known. */
  readonly contact: { readonly what: string; readonly at: Date } | null;
  readonly error: DatedError | null;
  /** Where it is; empty if that isn't known. */
  readonly place: string;
  /** `good`: the last contact was a good one. `idle`: nothing is known. */
  readonly tone: Tone;
}

interface DatedError {
  readonly code: string;
  readonly at: Date;
}

/** Whom to ring: each dependency that the config has. A command knows of those alone that the ledger tells of. */
export function dependenciesOf(facts: ScopeFacts): readonly Dependency[] {
  const { ledger, daemon } = facts;
  const unanswered = unansweredRun(facts);
  const runs = datedInOrder([...runsOf(facts), ...(unanswered ? [unanswered] : [])]);
  const errorOf = (name: string) => latest(runs.flatMap((run) => errorIn(run, name)));
  const { baseUrl = null, teamId = null, answeredAt = null } = ledger?.service ?? {};
  // A store may refuse the tokens of single groups while it takes those of others.
  const refused = (ledger?.failing ?? []).filter(({ code }) => dependencyOf(code) === "TOKEN");
  const ofGroups = latest(refused.map(({ code, since }) => ({ code, at: since })));
  const stored = runs.filter(hasStored).map(({ finishedAt }) => finishedAt);
  return [
    dependency("Source", "read", [daemon?.lastGoodSync ?? runs.find(isGoodSync)?.finishedAt], {
      error: errorOf("SOURCE"),
    }),
    dependency("Ledger", "read", [ledger?.readAt], {
      error: errorOf("LEDGER"),
      place: ledger?.tables.ledger ?? "",
    }),
    dependency("Tokens", "reached", [ledger?.tokensVerifiedAt, ...stored], {
      error: ofGroups ?? errorOf("TOKEN"),
      place: ledger?.tables.tokens.join(" and ") ?? "",
      ...(ofGroups && { tone: "attention" }),
    }),
    dependency("Service", "answered", [daemon?.lastAnswer ?? answeredAt], {
      error: errorOf("SERVICE"),
      // Without its scheme, which needs room and tells nothing.
      place:
        baseUrl === null ? "" : `${baseUrl.replace(/^https?:\/\//, "")}, team ${teamId ?? "not known yet"}`,
    }),
    ...(daemon ? ofDaemon(daemon, errorOf("CONFIG")) : []),
  ];
}

function ofDaemon(daemon: DaemonState, runError: DatedError | null): Dependency[] {
  const { serving, unreached, reachedAt, rejectedConfig, configReadAt } = daemon;
  const rejected = rejectedConfig && { code: rejectedConfig.code, at: rejectedConfig.since };
  const lost = latest(unreached.map(({ since }) => ({ code: "NOTIFY_FAILED", at: since })));
  const times = Object.values(reachedAt);
  return [
    ...Object.entries(serving?.feeds ?? {}).map(([feed, state]) =>
      dependency(`Changes (${feed})`, "answered", [state?.workedAt], {
        error: state?.failure ? { code: state.failure.code, at: state.failure.since } : null,
        place: state === null ? "this instance notices nobody now" : "",
      }),
    ),
    // The webhook may be dead while the heartbeat arrives.
    ...(times.length > 0
      ? [dependency("Notifications", "reached", times, { error: lost, ...(lost && { tone: "bad" }) })]
      : []),
    dependency("Config", "read", [configReadAt], {
      error: rejected ?? runError,
      ...(rejected && { tone: "attention" }),
    }),
  ];
}

/**
 * Puts the end of each run no later than the end of the run after it. If the clock was set back between them, the earlier run says
 * that it ended later. The list has the newest run first.
 */
function datedInOrder(runs: readonly PastRun[]): readonly PastRun[] {
  let later: Date | null = null;
  return runs.map((run) => {
    const { finishedAt } = run;
    if (finishedAt && (later === null || finishedAt < later)) later = finishedAt;
    return { ...run, finishedAt: finishedAt && later };
  });
}

/** If no tone is given, what came last decides it: the good contact or the error. */
function dependency(
  name: string,
  what: string,
  contacts: readonly (Date | null | undefined)[],
  { error, place = "", tone }: Pick<Dependency, "error"> & Partial<Pick<Dependency, "place" | "tone">>,
): Dependency {
  const contact = latest(contacts.flatMap((at) => (at ? [{ what, at }] : [])));
  const isFailing = error !== null && !(contact && contact.at >= error.at);
  return { name, contact, error, place, tone: tone ?? (isFailing ? "bad" : contact ? "good" : "idle") };
}

const latest = <T extends { readonly at: Date }>(all: readonly T[]): T | null =>
  all.reduce<T | null>((last, one) => (last && last.at >= one.at ? last : one), null);

const hasStored = ({ result }: PastRun): boolean => {
  if (result === null) return false;
  const { created, adopted, replaced, rotated, restored } = result.counts;
  return created + adopted + replaced + rotated + restored > 0;
};

function errorIn({ finishedAt, result }: PastRun, name: string): DatedError[] {
  const { error } = result ?? {};
  return error && finishedAt && dependencyOf(error.code) === name
    ? [{ code: error.code, at: finishedAt }]
    : [];
}

/** Errors that say nothing of a dependency. */
const NONE = /^(SOURCE_INCONCLUSIVE|SOURCE_CHANGED)$/;

/** The dependency that a run's error is about, by the first word of its code. */
function dependencyOf(code: string): string | undefined {
  if (FAILED_BY_SERVICE.includes(code)) return "SERVICE";
  return NONE.test(code) ? undefined : /^(SOURCE|LEDGER|TOKEN|CONFIG)/.exec(code)?.[0];
}
