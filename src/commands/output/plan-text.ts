import { ABSENCE_TEXT, GONE_TEXT, missingText } from "../../core/deletion/missing-tenants.ts";
import { describeHeldRemovals } from "../../core/deletion/removals.ts";
import { describeHeldRefresh } from "../../core/drift/refresh.ts";
import type { FieldChange } from "../../core/group/group.ts";
import { tablesText } from "../../core/report/tables-text.ts";
import type { Json } from "../../core/text/json.ts";
import { printable, printableId } from "../../core/text/printable.ts";
import { quantity } from "../../core/text/quantity.ts";
import type { DueRotations } from "../../engine/check/due-rotations.ts";
import { forecastNumbers, type SyncForecast } from "../../engine/check/sync-forecast.ts";
import { isHeld, type PlanEntry } from "../../engine/plan/plan.ts";
import type { LedgerView } from "../../ports/ledger/ledger.ts";
import { failureText, LONGEST_REASON, quotedName, withHint } from "./attention.ts";
import { type Paint, painter } from "./colours.ts";
import { type DetailedEntry, detailedEntries } from "./plan-entries.ts";

/**
 * Writes the plan for people: + for a create, ~ for an update with old → new, ± for a replacement, - for a
 * deletion, ↻ for a new token, = for a group that stays as it is, ! for what needs attention, which comes last.
 * Held removals are marked.
 */
export async function writePlanText(
  forecast: SyncForecast,
  ledger: LedgerView,
  write: (text: string) => void,
  colours: boolean,
): Promise<void> {
  const { plan, tables, rotations, refresh, tokensMayBeMissingIn, failures, warnings } = forecast;
  const paint = painter(colours);
  let hasLines = false;
  const writeAll = (texts: readonly string[]): void => {
    for (const text of texts) write(`${text}\n`);
    hasLines ||= texts.length > 0;
  };
  const writeLines = (line: DetailedEntry): void => writeAll(linesOf(line, isHeld(line.entry, plan), paint));
  for await (const line of detailedEntries(plan, ledger)) {
    // Not all rows that aren't ready have an entry in a plan of all tenants, so they are only counted.
    if (plan.isWhole && line.entry.kind === "not_ready") continue;
    if (!needsAttention(line.entry)) writeLines(line);
  }
  writeAll(rotationLines(rotations, paint));
  if (plan.counts.rejected + plan.counts.waiting > 0) {
    for await (const entries of plan.entries.read())
      for (const entry of entries.filter(needsAttention)) writeLines({ entry });
  }
  writeAll(failedRotationLines(rotations, paint));
  writeAll(
    plan.leftUnderWay.map(
      (id) =>
        `${paint("yellow", "?")} ${printableId(id)}  a GET asks for its live token: an earlier call is under way`,
    ),
  );
  const isWell = failures.length === 0;
  write(`${hasLines ? "\n" : ""}${summary(forecast, isWell ? paint : painter(false))}\n`);
  if (refresh) write(refreshText(refresh, paint));
  if (tokensMayBeMissingIn.length > 0) write(`${lackText(tokensMayBeMissingIn)}\n`);
  for (const { message, hint } of warnings)
    write(`${withHint(paint("yellow", `A sync would warn: ${printable(message, LONGEST_REASON)}`), hint)}\n`);
  for (const failure of failures) write(`${failureText(failure, paint)}\n`);
  write(`${paint("dim", `Tables: ${tablesText(tables)}.`)}\n`);
}

const needsAttention = ({ kind }: PlanEntry): boolean => kind === "rejected" || kind === "waiting";

/** If it is unsafe, a warning says so. */
function refreshText(
  { due, doubted, unsafe, hold }: NonNullable<SyncForecast["refresh"]>,
  paint: Paint,
): string {
  if (unsafe) return "";
  const why = doubted > 0 ? `${quantity(doubted, "group")} in doubt` : "service.refresh";
  if (hold === null) return `Beyond that, ${quantity(due, "group")} to ask for again (${why}).\n`;
  const { message, hint } = describeHeldRefresh(hold, due);
  return `${paint("yellow", `Held: ${message}.`)}\n  ${hint}\n`;
}

const lackText = (places: readonly string[]): string =>
  `Tokens may be missing: a sync checks every token in ${places.join(" and in ")}, and writes the missing ones.`;

function linesOf({ entry, changes, name }: DetailedEntry, held: boolean, paint: Paint): string[] {
  const named = name === undefined ? "" : `  ${paint("dim", quotedName(name))}`;
  const id = `${printableId(entry.user_group_id)}${named}${held ? paint("yellow", "  held") : ""}`;
  switch (entry.kind) {
    case "create": {
      const note = entry.underWay ? paint("dim", "  (begun by an earlier run)") : "";
      return [`${paint("green", "+")} ${id}  ${paint("dim", quotedName(entry.group.name))}${note}`];
    }
    case "update":
    case "replace": {
      const sign = entry.kind === "replace" ? "±" : "~";
      const note = entry.underWay
        ? "begun by an earlier run"
        : "sent again: the ledger can't tell what the service holds";
      const details = changes?.length
        ? changes.map((change) => changeText(change, paint))
        : [paint("dim", note)];
      const how =
        entry.kind === "replace" ? `  ${paint("dim", "deleted and made anew, with a new token")}` : "";
      return [`${paint("yellow", sign)} ${id}${how}`, ...details.map((detail) => `    ${detail}`)];
    }
    case "delete": {
      const note = entry.underWay ? "; begun by an earlier run" : "";
      return [`${paint("red", "-")} ${id}  ${paint("dim", `${ABSENCE_TEXT[entry.absence]}${note}`)}`];
    }
    case "missing":
      return [`${paint("cyan", "=")} ${id}  ${paint("dim", missingText(entry))}`];
    case "outdated":
      return [`${paint("cyan", "=")} ${id}  ${paint("dim", "changed, but service.update is never")}`];
    case "not_ready":
      return [
        `${paint("cyan", "=")} ${id}  ${paint("dim", "not ready: source.ready_when is not true of its row")}`,
      ];
    case "rejected":
      return [`${paint("red", "!")} ${id}  rejected: ${printable(entry.message)}`];
    case "waiting":
      return [waitingLine(id, entry.code, entry.message, entry.retryAt, paint)];
    case "gone":
      return [`${paint("cyan", "=")} ${id}  ${paint("dim", GONE_TEXT)}`];
    // These kinds need no line.
    case "left":
    case "returned":
    case "forgotten":
    case "change_dropped":
    case "settled":
      return [];
  }
}

const waitingLine = (id: string, code: string, message: string, retryAt: string, paint: Paint): string =>
  `${paint("red", "!")} ${id}  ${code}: ${printable(message)}; next try after ${retryAt}`;

function rotationLines({ count, next }: DueRotations, paint: Paint): string[] {
  const due = next.map(({ user_group_id, tokenSince }) => {
    const note = `a new token; the present one is from ${tokenSince.toISOString()}`;
    return `${paint("yellow", "↻")} ${printableId(user_group_id)}  ${paint("dim", note)}`;
  });
  const more = count - next.length;
  return more > 0 ? [...due, `  … and ${quantity(more, "more token")}`] : due;
}

const failedRotationLines = ({ waiting }: DueRotations, paint: Paint): string[] =>
  waiting.map(({ user_group_id, failure: { code, message, retryAt } }) =>
    waitingLine(printableId(user_group_id), code, message, retryAt.toISOString(), paint),
  );

function changeText({ field, from, to }: FieldChange, paint: Paint): string {
  const old = from === undefined ? paint("dim", "(none)") : paint("red", quoted(from));
  const next = to === undefined ? paint("dim", "(none)") : paint("green", quoted(to));
  return `${printable(field)}: ${old} → ${next}`;
}

const quoted = (value: Json): string => printable(JSON.stringify(value), 80);

function summary(forecast: SyncForecast, paint: Paint): string {
  const { plan } = forecast;
  const { guard } = plan;
  const numbers = forecastNumbers(forecast);
  if (numbers === null) return paint("green", `Nothing to do: ${quantity(plan.unchanged, "group")} in sync.`);
  const line = `${paint("bold", "Plan:")} ${numbers}.`;
  if (guard.kind === "allowed") return line;
  const { message, hint } = describeHeldRemovals(guard);
  return [line, paint("yellow", `Held: ${message}.`), `  ${hint}`].join("\n");
}
