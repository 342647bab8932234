import { type Health, healthOf, type PastRun } from "../../core/health.ts";
import type { DaemonState, FinishedRun } from "../state.ts";
import { relative, roundText } from "./figures.ts";

export interface Headline {
  readonly tone: Tone;
  /** Is all well? */
  readonly sentence: string;
  /** What that means, or what to do; empty where there is nothing to add. */
  readonly advice: readonly string[];
}

/** From nothing to do to somebody is needed now. */
export type Tone = "good" | "idle" | "busy" | "attention" | "bad";

/**
 * The one thing that an operator has to know, the worst first. Where the ledger says it, in the words of
 * `groupsync status`.
 */
export function headlineOf(state: DaemonState, now: Date): Headline {
  const { ledger, current, standby, nextRun } = state;
  const { kind, sentence } = healthOf(factsOf(state));
  const advice = (...lines: readonly string[]): string[] => lines.filter((line) => line !== "");
  switch (kind) {
    case "failed":
      return { tone: "bad", sentence, advice: advice(hintOf(state), retryText(state, now)) };
    case "killed":
      if (current) break;
      return { tone: "bad", sentence, advice: advice(retryText(state, now)) };
  }
  if (ledger === null && state.lastRun !== null) {
    return {
      tone: "bad",
      sentence: "The ledger cannot be read.",
      advice: advice("Is the database of ledger.url up?", retryText(state, now)),
    };
  }
  const stale = staleText(state, now);
  if (stale !== null) {
    return { tone: "bad", sentence: stale, advice: advice(whyStale(state), retryText(state, now)) };
  }
  if (kind === "held" || kind === "attention") {
    return { tone: "attention", sentence, advice: advice(...adviceOn(kind, state)) };
  }
  if (current) {
    const nothingYet = kind === "empty" ? "It is the first one: nothing has been synced yet." : "";
    const goingOn = current.run === null ? "A run is about to begin." : "A run is going on.";
    return { tone: "busy", sentence: goingOn, advice: advice(nothingYet || lastText(kind)) };
  }
  if (standby) {
    return {
      tone: "idle",
      sentence: "Standing by: another instance is at work.",
      advice: advice("This one takes over when the other one ends or its lease expires."),
    };
  }
  if (nextRun === null) return { tone: "idle", sentence: "It has been told to stop.", advice: [] };
  if (kind === "empty") {
    return { tone: "idle", sentence, advice: advice(`The first sync is due ${relative(nextRun, now)}.`) };
  }
  return { tone: kind === "well" ? "good" : "busy", sentence, advice: [] };
}

/** A run that failed before it had the lease is in no ledger. */
function factsOf({ ledger, lastRun }: DaemonState): Parameters<typeof healthOf>[0] {
  const status = ledger?.status;
  const recorded = status?.runs ?? [];
  return {
    groups: status?.groups ?? { failing: 0 },
    held: status?.held ?? null,
    lease: status?.lease ?? null,
    runs: lastRun && isNewer(lastRun, recorded[0]) ? [asPast(lastRun), ...recorded] : recorded,
  };
}

const isNewer = (run: FinishedRun, recorded: { readonly startedAt: Date } | undefined): boolean =>
  recorded === undefined || run.startedAt > recorded.startedAt;

const asPast = (run: FinishedRun): PastRun => ({ command: run.command, result: run });

/** What helps against the failure of the last run, where it was this process's. */
function hintOf({ lastRun, ledger }: DaemonState): string {
  const [recorded] = ledger?.status.runs ?? [];
  const isOfThisRun = lastRun && (lastRun.run === recorded?.id || isNewer(lastRun, recorded));
  return isOfThisRun && lastRun.outcome === "failed" ? asSentence(lastRun.error?.hint ?? "") : "";
}

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

function adviceOn(kind: "held" | "attention", { ledger }: DaemonState): string[] {
  if (kind === "held") {
    return ledger?.status.held
      ? ["Are these tenants really gone? Look at the source first, then see below."]
      : ["Check the source: nothing is deleted on such evidence. groupsync plan says more."];
  }
  return (ledger?.status.groups.failing ?? 0) > 0
    ? ["All others are in order. Failing groups are tried again by themselves; the reasons are below."]
    : ["All others are in order. groupsync plan lists the rows and the reasons."];
}

const lastText = (kind: Health["kind"]): string =>
  kind === "well"
    ? "All was well after the last one."
    : kind === "killed"
      ? "It settles what a killed run left."
      : "";
