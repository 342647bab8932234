import { counted } from "../core/counted.ts";
import { outOfSyncText } from "../core/out-of-sync.ts";
import { isTenantGone } from "../core/outcome.ts";
import { printable, printableId } from "../core/printable.ts";
import { durationText } from "../core/progress.ts";
import { countsText } from "../core/summary-text.ts";
import type { RunReport } from "../engine/report.ts";
import type { ReportedError } from "../engine/run.ts";
import { heldJson, heldLines } from "./held-groups.ts";
import { type Paint, painter } from "./paint.ts";

/** What the report is of: each has words of its own for how it ended. */
type Reported = "sync" | "rotation";

/** The object that `sync --json` and `rotate --json` promise. */
export function reportJson({ outcome, counts, requests, durationMs, hold, errors }: RunReport): string {
  const object = {
    outcome,
    ...counts,
    requests,
    duration_ms: Math.round(durationMs),
    held_code: hold?.approval ?? null,
    held_groups: hold?.groups.map(heldJson) ?? [],
    errors,
  };
  return `${JSON.stringify(object)}\n`;
}

const SHOWN_ERRORS = 20;
/** The reason why a run ended is worth more room than that of one group. */
const LONGEST_REASON = 2_000;

/** The report for people: the outcome in a line, the numbers in a line, then what needs attention. */
export function reportText(of: Reported, report: RunReport, colours: boolean): string {
  const paint = painter(colours);
  const { counts, requests, durationMs, error, hold } = report;
  const numbers = countsText(counts);
  const reason = error ?? hold;
  const lines = [
    headline(of, report, reason?.message ?? "unknown", paint),
    ...(reason?.hint ? [`  ${printable(reason.hint, LONGEST_REASON)}`] : []),
    `  ${numbers}${numbers === "" ? "" : "; "}${counted(requests, "request")} in ${durationText(durationMs)}`,
    ...(hold && hold.count > 0
      ? ["  held:", ...heldLines(hold.groups, hold.count).map((line) => `    ${line}`)]
      : []),
    // The headline has said the reason.
    ...errorLines(report.errors.filter(({ message }) => message !== reason?.message)),
  ];
  if (counts.unverified > 0) {
    lines.push("  unverified: a GET's answer doesn't show whether mapping and properties were taken");
  }
  if (counts.outdated > 0) lines.push("  outdated: changed, but left alone (service.update is never)");
  if (counts.missing > 0)
    lines.push("  missing: their tenants are gone; groupsync plan tells what becomes of them");
  return `${lines.join("\n")}\n`;
}

function headline(
  of: Reported,
  { outcome, counts, errors }: RunReport,
  reason: string,
  paint: Paint,
): string {
  switch (outcome) {
    case "ok":
    case "partial": {
      const outOfSync = outOfSyncText(counts);
      if (outOfSync !== "") return paint("yellow", `Done, with ${outOfSync}`);
      const gone = errors.filter(isTenantGone).length;
      if (gone > 0)
        return paint("yellow", `Done, but ${counted(gone, "tenant")} ${gone === 1 ? "is" : "are"} gone`);
      return paint("green", allWell(of, counts));
    }
    case "held":
      return paint("yellow", `Done, but ${printable(reason, LONGEST_REASON)}`);
    case "failed":
      return paint("red", `The ${of} failed: ${printable(reason, LONGEST_REASON)}`);
  }
}

function allWell(of: Reported, { rotated }: RunReport["counts"]): string {
  if (of === "sync") return "In sync";
  return rotated > 0 ? "Rotated" : "Nothing to rotate";
}

function errorLines(errors: readonly ReportedError[]): string[] {
  const lines = errors.slice(0, SHOWN_ERRORS).map(({ user_group_id, code, message }) => {
    // What concerns the whole run has no id either.
    const isOfRow = user_group_id !== null || code.startsWith("ID_");
    return `  ${isOfRow ? `${printableId(user_group_id)}: ` : ""}${code}: ${printable(message)}`;
  });
  const more = errors.length - lines.length;
  return more > 0 ? [...lines, `  … and ${more} more; --json lists them`] : lines;
}
