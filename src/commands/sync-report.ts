import { printable, printableId } from "../core/printable.ts";
import { durationText } from "../core/progress.ts";
import type { RunReport } from "../engine/report.ts";
import type { ReportedError } from "../engine/run.ts";
import { painter } from "./paint.ts";

/** The object that `sync --json` promises. */
export function syncJson({ outcome, counts, requests, durationMs, errors }: RunReport): string {
  return `${JSON.stringify({ outcome, ...counts, requests, duration_ms: Math.round(durationMs), errors })}\n`;
}

const SHOWN_ERRORS = 20;

const HEADLINES: Readonly<Record<RunReport["outcome"], string>> = {
  ok: "Everything is in sync",
  partial: "In sync, but for some",
  held: "In sync, but deletions are held",
  failed: "The sync failed",
};

/** The report for people: the outcome in a line, the numbers in a line, then what needs attention. */
export function syncText(report: RunReport, colours: boolean): string {
  const paint = painter(colours);
  const { outcome, counts, requests, durationMs, error } = report;
  const colour = outcome === "ok" ? "green" : outcome === "failed" ? "red" : "yellow";
  const numbers = Object.entries(counts)
    .filter(([name, count]) => count > 0 || name === "unchanged")
    .map(([name, count]) => `${count} ${name}`);
  const lines = [
    paint(colour, error ? `${HEADLINES.failed}: ${error.message}` : HEADLINES[outcome]),
    ...(error?.hint ? [`  ${error.hint}`] : []),
    `  ${numbers.join(", ")}; ${requests} requests in ${durationText(durationMs)}`,
    ...errorLines(error ? report.errors.slice(1) : report.errors),
  ];
  if (counts.unverified > 0) {
    lines.push("  unverified: a GET's answer doesn't show whether mapping and properties were taken");
  }
  if (counts.outdated > 0) lines.push("  outdated: changed, but left alone (service.update is never)");
  return `${lines.join("\n")}\n`;
}

function errorLines(errors: readonly ReportedError[]): string[] {
  const lines = errors
    .slice(0, SHOWN_ERRORS)
    .map(
      ({ user_group_id, code, message }) => `  ${printableId(user_group_id)}: ${code}: ${printable(message)}`,
    );
  const more = errors.length - lines.length;
  return more > 0 ? [...lines, `  … and ${more} more; --json lists them`] : lines;
}
