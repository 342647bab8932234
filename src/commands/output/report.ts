import { isTenantGone, isTenantNotReady } from "../../core/failure/sync-error.ts";
import { countsText, outOfSyncText } from "../../core/report/counts.ts";
import { printable, printableId } from "../../core/text/printable.ts";
import { durationText, quantity } from "../../core/text/quantity.ts";
import { type RunReport, reasonOf } from "../../engine/report/run-report.ts";
import { errorLines, heldJson, heldLines, LONGEST_REASON, remedyLines } from "./attention.ts";
import { type Paint, painter } from "./colours.ts";

/** The kind of run that the report is about. */
type Reported = "sync" | "rotation";

/** The object of `sync --json` and `rotate --json`. */
export function reportJson({
  outcome,
  counts,
  requests,
  durationMs,
  hold,
  refreshHold,
  errors,
}: RunReport): string {
  const object = {
    outcome,
    ...counts,
    requests,
    duration_ms: Math.round(durationMs),
    held_code: hold?.approval ?? null,
    held_groups: hold?.groups.map((held) => heldJson(held, hold.names.get(held.user_group_id))) ?? [],
    refresh_held_code: refreshHold?.approval ?? null,
    errors,
  };
  return `${JSON.stringify(object)}\n`;
}

/** The report for people: a line with the outcome, a line with the numbers, then what needs attention. */
export function reportText(of: Reported, report: RunReport, colours: boolean): string {
  const paint = painter(colours);
  const { counts, requests, durationMs, hold } = report;
  const numbers = countsText(counts);
  const reason = reasonOf(report);
  const lines = [
    headline(of, report, reason?.message ?? "unknown", paint),
    ...(reason?.hint ? [`  ${printable(reason.hint, LONGEST_REASON)}`] : []),
    `  ${numbers}${numbers === "" ? "" : "; "}${quantity(requests, "request")} in ${durationText(durationMs)}`,
    ...(hold && hold.count > 0
      ? ["  held:", ...heldLines(hold.groups, hold.names, hold.count).map((line) => `    ${line}`)]
      : []),
    // The headline has the run's reason already.
    ...errorLines(report.errors.filter(({ message }) => message !== reason?.message)),
    // The hint of the whole run is above.
    ...remedyLines(report.errors.filter(({ code }) => code !== reason?.code)),
  ];
  for (const [count, note] of NOTES) if (counts[count] > 0) lines.push(`  ${note}`);
  return `${lines.join("\n")}\n`;
}

/** What a count means that an operator may not know. */
const NOTES = [
  ["unverified", "unverified: a GET's answer doesn't show whether mapping and properties were taken"],
  ["outdated", "outdated: changed, but left alone (service.update is never)"],
  ["wanted", "wanted: a new token was asked for; every sync tries again until it is there"],
  ["missing", "missing: their tenants are gone; groupsync plan tells what becomes of them"],
  ["not_ready", "not ready: they wait for source.ready_when, and their groups stay as they are"],
] as const;

function headline(of: Reported, report: RunReport, reason: string, paint: Paint): string {
  const { outcome, counts, errors, clocks } = report;
  switch (outcome) {
    case "ok":
    case "partial": {
      if (of === "rotation" && counts.failed > 0) return paint("yellow", notRotated(report));
      if (clocks) return paint("yellow", `Done, but ${printable(reason, LONGEST_REASON)}`);
      const outOfSync = outOfSyncText(counts);
      if (outOfSync !== "") return paint("yellow", `Done, with ${outOfSync}`);
      const gone = errors.filter(isTenantGone).length;
      if (gone > 0)
        return paint("yellow", `Done, but ${quantity(gone, "tenant")} ${gone === 1 ? "is" : "are"} gone`);
      const waiting = errors.filter(isTenantNotReady).length;
      if (waiting > 0)
        return paint(
          "green",
          `Done; ${quantity(waiting, "tenant")} ${waiting === 1 ? "is" : "are"} not ready`,
        );
      return paint("green", allWell(of, counts));
    }
    case "held":
      return paint("yellow", `Done, but ${printable(reason, LONGEST_REASON)}`);
    case "failed":
      return paint("red", `The ${of} failed: ${printable(reason, LONGEST_REASON)}`);
  }
}

/** Says first what an operator fears: whether a tenant is locked out. */
function notRotated({ counts, errors, keptTokens }: RunReport): string {
  const { failed, rotated } = counts;
  const [id] = errors.flatMap(({ user_group_id }) => user_group_id ?? []);
  if (failed === 1 && id !== undefined) {
    const name = printableId(id);
    return keptTokens.has(id) ? `Not rotated: the old token of ${name} still works` : `Not rotated: ${name}`;
  }
  const which = `Not rotated: ${failed} of ${quantity(failed + rotated, "group")}`;
  if (keptTokens.size === 0) return which;
  const whose =
    keptTokens.size === failed ? "their old tokens" : `the old tokens of ${keptTokens.size} of them`;
  return `${which}; ${whose} still work`;
}

function allWell(of: Reported, { rotated }: RunReport["counts"]): string {
  if (of === "sync") return "In sync";
  return rotated > 0 ? "Rotated" : "Nothing to rotate";
}
