import type { RejectionReason } from "../../core/group/rejections.ts";
import { summaryText } from "../../core/report/counts.ts";
import { durationText, quantity } from "../../core/text/quantity.ts";
import type { RunSummary } from "../../ports/observer.ts";
import { lasting, type ProblemChange, type ProblemKind, type Problems } from "./problems.ts";

/**
 * The text of a webhook message: the daemon's name, which problems began, grew or ended, how the run ended if one has
 * shown them, why rows are rejected, what to do, and which problems last. It names no tenant, and failures and reasons by
 * their codes only: their messages and hints may quote a tenant's text. The hint of held removals is groupsync's own.
 */
export function messageText(
  name: string,
  changes: readonly ProblemChange[],
  problems: Problems,
  run: RunSummary | null,
  reasons: readonly RejectionReason[],
): string {
  const told = new Set(changes.map(({ kind }) => kind));
  const others = lasting(problems).filter(([kind]) => !told.has(kind));
  const worse = changes.filter(({ change }) => change !== "ended");
  const isRecovery = worse.length === 0 && others.length === 0;
  const headline = changes.map(changeText).join("; ");
  const still = others.map(
    ([kind, { count, since }]) => `${PHRASES[kind].lasts(count)}, since ${since.toISOString()}`,
  );
  return [
    `groupsync ${name}: ${isRecovery ? "recovered: " : ""}${headline}`,
    run === null
      ? ""
      : summaryText({ ...run, error: run.error && { ...run.error, message: run.error.code } }),
    ...(worse.some(({ kind }) => kind === "rejected") ? reasonLines(reasons) : []),
    ...new Set(worse.map(({ kind }) => (kind === "held" && hintOfHeld(run)) || PHRASES[kind].advice)),
    ...(still.length > 0 ? [`still: ${still.join("; ")}`] : []),
  ]
    .filter((line) => line !== "")
    .join("\n");
}

const hintOfHeld = (run: RunSummary | null): string | undefined =>
  run?.error?.code === "DELETIONS_HELD" ? run.error.hint : undefined;

function reasonLines(reasons: readonly RejectionReason[]): string[] {
  const rows = new Map<string, number>();
  for (const reason of reasons) rows.set(reason.code, (rows.get(reason.code) ?? 0) + reason.rows);
  return Array.from(rows, ([code, count]) => `${quantity(count, "row")}: ${code}`);
}

function changeText({ kind, change, count, before, lastedMs }: ProblemChange): string {
  const says = PHRASES[kind];
  switch (change) {
    case "began":
      return says.lasts(count);
    case "grew":
      return `${says.lasts(count)}, up from ${before}`;
    case "ended":
      return `${says.over} (after ${durationText(lastedMs ?? 0)})`;
  }
}

interface Phrases {
  readonly lasts: (count: number) => string;
  readonly over: string;
  /** What to do. */
  readonly advice: string;
}

const OF_OUTAGE = "the log and the status page say why, and what to do";

const PHRASES: Readonly<Record<ProblemKind, Phrases>> = {
  program: { lasts: () => "groupsync can't sync", over: "groupsync can sync again", advice: OF_OUTAGE },
  ledger: { lasts: () => "the ledger fails", over: "the ledger works again", advice: OF_OUTAGE },
  stores: { lasts: () => "a token store fails", over: "the token store works again", advice: OF_OUTAGE },
  source: { lasts: () => "the source fails", over: "the source works again", advice: OF_OUTAGE },
  service: { lasts: () => "the service fails", over: "the service works again", advice: OF_OUTAGE },
  config: {
    lasts: () => "the new config was rejected, and the old one stays in force",
    over: "a config was accepted",
    advice: "the status page and the log say what is wrong with it; a restart would read it",
  },
  clocks: {
    lasts: () => "the clock of this host and that of the ledger's database differ, so nothing is deleted",
    over: "the clocks agree again",
    advice: "set the clock that is wrong, best by NTP",
  },
  held: {
    lasts: (count) => `${quantity(count, "removal")} ${count === 1 ? "is" : "are"} held`,
    over: "no removal is held any more",
    advice: "groupsync status has the command that approves them",
  },
  refresh: {
    lasts: (count) =>
      `the refresh is held: ${quantity(count, "group")} ${count === 1 ? "was" : "were"} gone at the service`,
    over: "the refresh is held no more",
    advice:
      "find out who has deleted these groups; groupsync status has the command that has more of them made again",
  },
  missing: {
    lasts: (count) =>
      `the tenants of ${quantity(count, "group")} are gone, more than deletion.limit lets go in 24 hours`,
    over: "no more tenants are gone than deletion.limit lets go in 24 hours",
    advice: "look at the source first: are these tenants really gone? groupsync plan names them",
  },
  drift: {
    lasts: (count) =>
      `${quantity(count, "change")} by somebody else ${count === 1 ? "was" : "were"} found at the service within 24 hours`,
    over: "no change by somebody else was found at the service in the last 24 hours",
    advice: "find out who changes groups beside groupsync: the log names each group with its drift",
  },
  failing: {
    lasts: (count) => `${quantity(count, "group")} ${count === 1 ? "fails" : "fail"}`,
    over: "no group fails any more",
    advice: "groupsync status names the groups that fail",
  },
  rejected: {
    lasts: (count) => `${quantity(count, "row")} ${count === 1 ? "is" : "are"} rejected`,
    over: "no row is rejected any more",
    advice: "groupsync status names the rows that are rejected",
  },
};
