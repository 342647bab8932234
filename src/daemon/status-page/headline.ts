import type { WentMissing } from "../../core/deletion/missing-tenants.ts";
import { rejectedRows } from "../../core/group/rejections.ts";
import { type HealthFacts, healthOf, type Verdict } from "../../core/report/health.ts";
import type { HeldGroups, LedgerStatus } from "../../ports/ledger/status.ts";
import { type BrokenWay, brokenWaysOf } from "../state/serving-state.ts";
import { type DaemonState, wentMissingOf } from "../state/state.ts";
import { grouped, groupedCount, relative, roundText, withGrouped } from "./number-and-time-text.ts";
import { type PastRun, pastRuns } from "./past-runs.ts";

export interface Headline {
  readonly tone: Tone;
  /** Says in one sentence whether all is well. */
  readonly sentence: string;
  /** What the sentence means, or what to do. May be empty. */
  readonly advice: readonly string[];
  /** The part of the page that says more. */
  readonly see: "held" | "failing" | "rejected" | "serving" | null;
}

/** From `good` (nothing to do) to `bad` (somebody is needed now). */
export type Tone = "good" | "idle" | "busy" | "attention" | "bad";

/**
 * The most important thing for an operator to know. If several things are wrong, the headline is the worst of them.
 * What comes from the ledger is worded as in `groupsync status`.
 */
export function headlineOf(state: DaemonState, now: Date): Headline {
  const { ledger, current, standby, nextRun, lastRun } = state;
  const runs = pastRuns(state);
  const hint = asSentence(runs[0]?.hint ?? "");
  const [{ kind, sentence }] = healthOf(factsOf(state, runs));
  // A run that was told to stop is not a failure, even though it counts as failed.
  const wasStopped = runs[0]?.result?.error?.code === "INTERRUPTED";
  if (kind === "failed" && !(wasStopped && current)) {
    return headline(wasStopped ? "attention" : "bad", sentence, hint, retryText(state, now));
  }
  if (kind === "killed" && !current) return headline("bad", sentence, retryText(state, now));
  if (ledger === null && lastRun) {
    return headline(
      "bad",
      "The ledger cannot be read.",
      "Is the database of ledger.url up?",
      retryText(state, now),
    );
  }
  const stale = staleText(state, now);
  if (stale !== null) return headline("bad", stale, whyStale(state), retryText(state, now));
  if (kind === "held") return heldHeadline(sentence, ledger?.status.held ?? null, hint);
  if (kind === "missing") return headline("attention", withGrouped(sentence), MISSING);
  if (kind === "attention") return attentionHeadline(withGrouped(sentence), ledger?.status);
  const broken = brokenWaysOf(state.serving).filter(({ state: { since } }) => isLasting(since, now));
  if (broken.length > 0) return unnoticedHeadline(broken);
  if (current) {
    const goesOn = current.run === null ? "A run is about to begin." : "A run is going on.";
    return headline("busy", goesOn, BEFORE[kind]);
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

const headline = (tone: Tone, sentence: string, ...advice: readonly string[]): Headline => ({
  tone,
  sentence,
  advice: advice.filter((line) => line !== ""),
  see: null,
});

const heldHeadline = (sentence: string, held: HeldGroups | null, hint: string): Headline =>
  held
    ? {
        ...headline("attention", sentence, "Look at the source first: are these tenants really gone?"),
        see: "held",
      }
    : headline("attention", sentence, hint || "Look at the source first: groupsync plan says more.");

function attentionHeadline(sentence: string, status: LedgerStatus | undefined): Headline {
  if (status && status.groups.failing > 0) {
    const advice = "All others are in order; these are tried again by themselves.";
    return { ...headline("attention", sentence, advice), see: "failing" };
  }
  if (status && status.rejected.length > 0)
    return { ...headline("attention", sentence, "All others are in order."), see: "rejected" };
  return headline(
    "attention",
    sentence,
    "All others are in order; groupsync plan names these and the reasons.",
  );
}

const unnoticedHeadline = (broken: readonly BrokenWay[]): Headline => ({
  ...headline(
    "attention",
    `Needs attention: ${broken.map(({ key }) => key).join(" and ")} ${broken.length === 1 ? "doesn't" : "don't"} work.`,
    "Full syncs find what is missed; until the next one, a tenant that only this would notice has no token.",
  ),
  see: "serving",
});

/** A connection that breaks is back after a moment, as a rule. */
const isLasting = (since: Date, now: Date): boolean => now.getTime() - since.getTime() >= 60_000;

const MISSING =
  "Look at the source first: are these tenants really gone? groupsync plan names them, and says when their groups are due.";

/** While a run is under way: what the runs before it left. */
const BEFORE: Readonly<Record<Verdict["kind"], string>> = {
  empty: "It is the first one: nothing has been synced yet.",
  killed: "It settles what the last one left, which was killed.",
  well: "All was well after the last one.",
  running: "",
  failed: "It goes on from where the last one was told to stop.",
  held: "",
  missing: "",
  attention: "",
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

const factsOf = (state: DaemonState, runs: readonly PastRun[]): HealthFacts => ({
  groups: state.ledger?.status.groups ?? { failing: 0 },
  rejected: rejectedRows(state.ledger?.status.rejected ?? []),
  held: state.ledger?.status.held ?? null,
  missing: wentMissingOf(state) ?? NOBODY_MISSING,
  lease: state.ledger?.status.lease ?? null,
  runs,
});

const NOBODY_MISSING: WentMissing = { count: 0, owned: 0, allowed: 0 };

const asSentence = (text: string): string =>
  text === "" ? "" : `${text[0]?.toUpperCase()}${text.slice(1)}${/[.?!…]$/.test(text) ? "" : "."}`;

function retryText({ nextRun, current }: DaemonState, now: Date): string {
  if (current) return "Another run is going on now.";
  return nextRun ? `It is tried again ${relative(nextRun, now)}; nothing is lost meanwhile.` : "";
}

function staleText({ lastGoodSync, startedAt, staleAfterMs }: DaemonState, now: Date): string | null {
  const since = now.getTime() - (lastGoodSync ?? startedAt).getTime();
  if (since <= staleAfterMs) return null;
  return lastGoodSync
    ? `No sync has reached its end for ${roundText(since)}.`
    : `No sync has reached its end in the ${roundText(since)} since the start.`;
}

function whyStale({ standby, current, staleAfterMs }: DaemonState): string {
  const limit = `More than ${roundText(staleAfterMs)} is too long.`;
  if (standby) return `${limit} Another instance holds the lease: see whether it is still at work.`;
  if (current) return `${limit} The run that goes on may wait for the service or the database.`;
  return `${limit} The log says what became of the runs.`;
}
