import { FAILED_BY_SERVICE } from "../failure/service-failure.ts";
import type { Tone } from "./incidents.ts";
import type { DaemonFacts, LedgerFacts, PastRun, ScopeFacts } from "./scope-facts.ts";

/** Something that groupsync needs, and what is known of it: the last good contact, and the last error. Holds no secret. */
export interface Dependency {
  readonly name: string;
  /** The last good one; null if none is known. */
  readonly contact: { readonly what: string; readonly at: Date } | null;
  readonly error: { readonly code: string; readonly at: Date } | null;
  /** Where it is; empty if that isn't known. */
  readonly place: string;
  /** `good`: the last contact was a good one. `idle`: nothing is known. */
  readonly tone: Tone;
}

/** Whom to ring: each dependency that the config has. A command knows of those alone that the ledger tells of. */
export function dependenciesOf(facts: ScopeFacts): readonly Dependency[] {
  const { ledger, daemon, unanswered } = facts;
  const runs = [...facts.runs, ...(unanswered ? [unanswered] : [])];
  const errorOf = (name: string) => latest(runs.flatMap((run) => errorIn(run, name)));
  const { baseUrl = null, teamId = null, answeredAt = null } = ledger?.service ?? {};
  return [
    dependency("Source", contact("read", goodSync(facts, runs)), errorOf("SOURCE")),
    dependency(
      "Ledger",
      contact("read", ledger?.readAt ?? null),
      errorOf("LEDGER"),
      ledger?.tables.ledger ?? "",
    ),
    ofTokens(ledger, runs, errorOf("TOKEN")),
    dependency(
      "Service",
      contact("answered", daemon?.lastAnswer ?? answeredAt),
      errorOf("SERVICE"),
      // Without its scheme, which needs room and tells nothing.
      baseUrl === null ? "" : `${baseUrl.replace(/^https?:\/\//, "")}, team ${teamId ?? "not known yet"}`,
    ),
    ...(daemon ? ofDaemon(daemon, errorOf("CONFIG")) : []),
  ];
}

/** A store may refuse the tokens of single groups while it takes those of others. */
function ofTokens(
  ledger: LedgerFacts | null,
  runs: readonly PastRun[],
  runError: Dependency["error"],
): Dependency {
  const written = runs.flatMap((run) => contacts("written", hasStored(run) ? run.finishedAt : null));
  const refused = (ledger?.failing ?? []).filter(({ code }) => dependencyOf(code) === "TOKEN");
  const groupError = latest(refused.map(({ code, since }) => ({ code, at: since })));
  return {
    ...dependency(
      "Tokens",
      latest([...contacts("checked", ledger?.tokensVerifiedAt ?? null), ...written]),
      groupError ?? runError,
      ledger?.tables.tokens.join(" and ") ?? "",
    ),
    ...(groupError && ({ tone: "attention" } as const)),
  };
}

function ofDaemon(daemon: DaemonFacts, runError: Dependency["error"]): Dependency[] {
  const { serving, unreached, reachedAt, rejectedConfig, configReadAt } = daemon;
  const rejected = rejectedConfig ? { code: rejectedConfig.code, at: rejectedConfig.since } : null;
  const isNotified = Object.keys(reachedAt).length > 0;
  const lost = unreached.map(({ since }) => ({ code: "NOTIFY_FAILED", at: since }));
  const reached = Object.values(reachedAt).flatMap((at) => contacts("reached", at));
  return [
    ...Object.entries(serving?.feeds ?? {}).map(([feed, state]): Dependency => {
      const name = `Changes (${feed})`;
      if (state === null) return dependency(name, null, null, "this instance notices nobody now");
      const { workedAt, failure } = state;
      const error = failure && { code: failure.code, at: failure.since };
      return dependency(name, contact("answered", workedAt), error);
    }),
    ...(isNotified
      ? [
          {
            ...dependency("Notifications", latest(reached), latest(lost)),
            // The webhook may be dead while the heartbeat arrives.
            ...(lost.length > 0 && ({ tone: "bad" } as const)),
          },
        ]
      : []),
    {
      ...dependency("Config", contact("read", configReadAt), rejected ?? runError),
      ...(rejected && ({ tone: "attention" } as const)),
    },
  ];
}

/** Whether an error counts is decided by what came last. */
function dependency(
  name: string,
  good: Dependency["contact"],
  error: Dependency["error"],
  place = "",
): Dependency {
  const isFailing = error !== null && !(good && good.at >= error.at);
  return { name, contact: good, error, place, tone: isFailing ? "bad" : good ? "good" : "idle" };
}

const contact = (what: string, at: Date | null): Dependency["contact"] => (at ? { what, at } : null);

const contacts = (what: string, at: Date | null) => (at ? [{ what, at }] : []);

const latest = <T extends { readonly at: Date }>(all: readonly T[]): T | null =>
  all.reduce<T | null>((last, one) => (last && last.at >= one.at ? last : one), null);

/** A sync that reaches its end has read the source. */
function goodSync({ daemon }: ScopeFacts, runs: readonly PastRun[]): Date | null {
  const good = runs.find(
    ({ command, result }) => command === "sync" && result && result.outcome !== "failed",
  );
  return daemon?.lastGoodSync ?? good?.finishedAt ?? null;
}

const hasStored = ({ result }: PastRun): boolean => {
  if (result === null) return false;
  const { created, adopted, replaced, rotated, restored } = result.counts;
  return created + adopted + replaced + rotated + restored > 0;
};

function errorIn({ finishedAt, result }: PastRun, name: string): { code: string; at: Date }[] {
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
