import { counted } from "../core/counted.ts";
import { printable, printableId } from "../core/printable.ts";
import { durationText } from "../core/progress.ts";
import type { RunReport } from "../engine/report.ts";
import type { HeldBack, ReportedError } from "../engine/run.ts";
import { exceptionsText } from "./exceptions.ts";
import { heldJson, heldLines } from "./held-groups.ts";
import { type Paint, painter } from "./paint.ts";

/** The object that `sync --json` promises. */
export function syncJson({ outcome, counts, requests, durationMs, heldBack, errors }: RunReport): string {
  const object = {
    outcome,
    ...counts,
    requests,
    duration_ms: Math.round(durationMs),
    held_code: heldBack?.approval ?? null,
    held_groups: heldBack?.groups.map(heldJson) ?? [],
    errors,
  };
  return `${JSON.stringify(object)}\n`;
}

const SHOWN_ERRORS = 20;
/** The reason why a run ended is worth more room than that of one group. */
const LONGEST_REASON = 2_000;

/** The report for people: the outcome in a line, the numbers in a line, then what needs attention. */
export function syncText(report: RunReport, colours: boolean): string {
  const paint = painter(colours);
  const { counts, requests, durationMs, error, heldBack } = report;
  // The reason why a run ended has been said, and that of a hold is.
  const errors = (error ? report.errors.slice(1) : report.errors).filter(
    ({ code }) => code !== heldBack?.code,
  );
  const numbers = Object.entries(counts)
    .filter(([, count]) => count > 0)
    .map(([name, count]) => `${count} ${name}`)
    .join(", ");
  const lines = [
    headline(report, paint),
    ...(error?.hint ? [`  ${error.hint}`] : []),
    `  ${numbers}${numbers === "" ? "" : "; "}${counted(requests, "request")} in ${durationText(durationMs)}`,
    ...(heldBack ? holdLines(heldBack) : []),
    ...errorLines(errors),
  ];
  if (counts.unverified > 0) {
    lines.push("  unverified: a GET's answer doesn't show whether mapping and properties were taken");
  }
  if (counts.outdated > 0) lines.push("  outdated: changed, but left alone (service.update is never)");
  return `${lines.join("\n")}\n`;
}

function headline({ outcome, counts, error }: RunReport, paint: Paint): string {
  switch (outcome) {
    case "ok":
    case "partial": {
      const exceptions = exceptionsText(counts);
      return exceptions === "" ? paint("green", "In sync") : paint("yellow", `Done, with ${exceptions}`);
    }
    case "held":
      return paint(
        "yellow",
        `Done, but ${counted(counts.held, "removal")} ${counts.held === 1 ? "is" : "are"} held`,
      );
    case "failed":
      return paint("red", `The sync failed: ${printable(error?.message ?? "unknown", LONGEST_REASON)}`);
  }
}

const holdLines = ({ message, hint, groups }: HeldBack): string[] => [
  `  ${printable(message, LONGEST_REASON)}`,
  `  ${printable(hint, LONGEST_REASON)}`,
  ...heldLines(groups, groups.length),
];

function errorLines(errors: readonly ReportedError[]): string[] {
  const lines = errors.slice(0, SHOWN_ERRORS).map(({ user_group_id, code, message }) => {
    // What concerns the whole run has no id either.
    const isOfRow = user_group_id !== null || code.startsWith("ID_");
    return `  ${isOfRow ? `${printableId(user_group_id)}: ` : ""}${code}: ${printable(message)}`;
  });
  const more = errors.length - lines.length;
  return more > 0 ? [...lines, `  … and ${more} more; --json lists them`] : lines;
}
