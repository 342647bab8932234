import { type Counts, isNoFault } from "../core/outcome.ts";
import { type Summary, summaryText } from "../core/summary-text.ts";
import type { RunSummary } from "../ports/observer.ts";

/** How things are, as far as somebody has to be told: `partial` where some tenants are not served. */
export type Condition = "well" | "partial" | "held" | "failing";

/** What a run says of how things are; undefined where it says nothing. */
export function conditionOf({ outcome, error }: Pick<Summary, "outcome" | "error">): Condition | undefined {
  switch (outcome) {
    case "ok":
      return "well";
    case "partial":
      return "partial";
    case "held":
      return "held";
    case "failed":
      return error && isNoFault(error) ? undefined : "failing";
  }
}

const HEADLINE: Record<Condition, string> = {
  well: "recovered",
  partial: "some tenants are failing",
  held: "deletions are held",
  failing: "failing",
};

/** What people are told when things have become so: which daemon, what, why, and what to do. */
export function newsText(name: string, condition: Condition, run: RunSummary): string {
  const { hint } = run.error ?? {};
  const advice = hint === undefined ? whereTheyAreNamed(run.counts) : [hint];
  return [`groupsync ${name}: ${HEADLINE[condition]}`, summaryText(run), ...advice].join("\n");
}

const whereTheyAreNamed = ({ failed, rejected }: Readonly<Counts>): string[] => [
  ...(failed > 0 ? ["groupsync status names the groups that fail"] : []),
  ...(rejected > 0 ? ["groupsync plan names the rows that are rejected"] : []),
];
