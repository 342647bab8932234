import { counted } from "../core/counted.ts";
import { durationText } from "../core/progress.ts";
import { summaryText } from "../core/summary-text.ts";
import type { RunSummary } from "../ports/observer.ts";
import { lasting, type News, type TroubleKind, type Troubles } from "./trouble.ts";

/** What people are told after a run: which daemon, what has changed, how the run was, what to do, and what is still so. */
export function newsText(
  name: string,
  news: readonly News[],
  troubles: Troubles,
  run: RunSummary,
  now: Date,
): string {
  const told = new Set(news.map(({ kind }) => kind));
  const others = lasting(troubles).filter(([kind]) => !told.has(kind));
  const worse = news.filter(({ change }) => change !== "ended");
  const isRecovery = worse.length === 0 && others.length === 0;
  const headline = news.map((entry) => changeText(entry, now)).join("; ");
  const still = others.map(
    ([kind, { count, since }]) => `${SAYS[kind].lasts(count)}, since ${since.toISOString()}`,
  );
  return [
    `groupsync ${name}: ${isRecovery ? "recovered: " : ""}${headline}`,
    summaryText(run),
    ...new Set(worse.map(({ kind }) => SAYS[kind].advice ?? run.error?.hint ?? "")),
    ...(still.length > 0 ? [`still: ${still.join("; ")}`] : []),
  ]
    .filter((line) => line !== "")
    .join("\n");
}

function changeText({ kind, change, count, before, since }: News, now: Date): string {
  const says = SAYS[kind];
  switch (change) {
    case "began":
      return says.lasts(count);
    case "grew":
      return `${says.lasts(count)}, up from ${before}`;
    case "ended":
      return `${says.over} (after ${durationText(Math.max(0, now.getTime() - since.getTime()))})`;
  }
}

interface Says {
  readonly lasts: (count: number) => string;
  readonly over: string;
  /** What to do. Left out: the run says. */
  readonly advice?: string;
}

const SAYS: Readonly<Record<TroubleKind, Says>> = {
  program: { lasts: () => "groupsync can't sync", over: "groupsync can sync again" },
  ledger: { lasts: () => "the ledger fails", over: "the ledger works again" },
  stores: { lasts: () => "a token store fails", over: "the token store works again" },
  source: { lasts: () => "the source fails", over: "the source works again" },
  service: { lasts: () => "the service fails", over: "the service works again" },
  held: {
    lasts: (count) => `${counted(count, "removal")} ${count === 1 ? "is" : "are"} held`,
    over: "no removal is held any more",
  },
  missing: {
    lasts: (count) => `the tenants of ${counted(count, "group")} went missing within 24 hours`,
    over: "no more tenants went missing in the last 24 hours than deletion.limit lets go",
    advice: "look at the source first: are these tenants really gone? groupsync plan names them",
  },
  failing: {
    lasts: (count) => `${counted(count, "group")} ${count === 1 ? "fails" : "fail"}`,
    over: "no group fails any more",
    advice: "groupsync status names the groups that fail",
  },
  rejected: {
    lasts: (count) => `${counted(count, "row")} ${count === 1 ? "is" : "are"} rejected`,
    over: "no row is rejected any more",
    advice: "groupsync plan names the rows that are rejected",
  },
};
