import { Command } from "commander";
import { using } from "../compose/host.ts";
import { ABSENCE_TEXT, GONE_TEXT, missingText } from "../core/deletion/missing-tenants.ts";
import { describeHeldRemovals } from "../core/deletion/removals.ts";
import { describeHeldRefresh } from "../core/drift/refresh.ts";
import type { SyncError } from "../core/failure/sync-error.ts";
import { changedFields, type FieldChange, type Group } from "../core/group/group.ts";
import type { Apply, Removal } from "../core/plan/change.ts";
import type { Missing } from "../core/plan/planned-action.ts";
import { EXIT, type ExitCode, exitCodeOfError } from "../core/report/exit-code.ts";
import { tablesText } from "../core/report/tables-text.ts";
import type { RotationCandidate } from "../core/rotation/rotation-policy.ts";
import type { Json } from "../core/text/json.ts";
import { printable, printableId } from "../core/text/printable.ts";
import { quantity } from "../core/text/quantity.ts";
import type { DueRotations, FailedRotation } from "../engine/check/due-rotations.ts";
import { predictedFailures } from "../engine/check/sync-conditions.ts";
import {
  type ForecastSetup,
  forecastNumbers,
  forecastSync,
  type SyncForecast,
} from "../engine/check/sync-forecast.ts";
import { changeCount, heldFrom, isHeld, type Plan, type PlanEntry } from "../engine/plan/plan.ts";
import type { LedgerView } from "../ports/ledger/ledger.ts";
import type { KnownService } from "../ports/ledger/scope.ts";
import type { Warning } from "../ports/observer.ts";
import type { CommandContext, CommandIo } from "./context.ts";
import { onlyTenants } from "./only-option.ts";
import {
  failureText,
  heldJson,
  LONGEST_REASON,
  quotedName,
  refreshHoldJson,
  withHint,
} from "./output/attention.ts";
import { type Paint, painter } from "./output/colours.ts";

export interface PlanFlags {
  readonly only?: readonly string[];
  readonly json?: boolean;
  readonly detailedExitcode?: boolean;
}

const UNKNOWN_SERVICE: KnownService = {
  baseUrl: null,
  teamId: null,
  updates: null,
  isProbed: false,
  answeredAt: null,
};

/** `groupsync plan`: reads the source and the ledger, or some tenants of them, sends nothing to the service, changes nothing. */
export const planCommand = ({ io, readConfig }: CommandContext): Command =>
  new Command("plan")
    .description("show what sync would do; sends nothing to the service")
    .addOption(onlyTenants())
    .option("--json", "print the plan as one JSON object")
    .option("--detailed-exitcode", "exit with 2 when there is something to do")
    .action(async (flags: PlanFlags, command: Command) => {
      const { composePlan } = await import("../compose/plan.ts");
      await using(await composePlan(await readConfig(command), io), (setup) => plan(setup, flags, io));
    });

/** Prints the plan. If a sync would fail for a reason that is known already, prints the reason and exits with that sync's code. */
export async function plan(
  setup: ForecastSetup,
  { only, json, detailedExitcode }: PlanFlags,
  io: CommandIo,
): Promise<void> {
  const { ledger } = setup.ports;
  const forecast = await forecastSync(setup, only && new Set(only), io.stop).catch(async (error) => {
    // The source can't be read. Print the other reasons for which a sync would fail, too.
    const service = await ledger.service().catch(() => UNKNOWN_SERVICE);
    for (const failure of await predictedFailures({ ledger, service, name: setup.settings.name, ...setup }))
      io.stderr(`${failureText(failure)}\n`);
    throw error;
  });
  try {
    if (json) await writePlanJson(forecast, ledger, io.stdout);
    else await writePlanText(forecast, ledger, io.stdout, io.isTerminal);
    const [failure] = forecast.failures;
    if (failure) io.finish(exitCodeOfError(failure));
    else if (detailedExitcode) io.finish(detailedExitCode(forecast));
  } finally {
    forecast.plan.entries.close();
  }
}

function detailedExitCode({ plan, rotations, refresh, tokensMayBeMissingIn }: SyncForecast): ExitCode {
  if (changeCount(plan) + rotations.count + tokensMayBeMissingIn.length > 0) return EXIT.changesPending;
  if (plan.guard.kind !== "allowed" || refresh?.hold) return EXIT.held;
  const isPartial =
    plan.reading.hostLeadMs !== null ||
    plan.counts.rejected + plan.counts.waiting + rotations.waiting.length > 0;
  return isPartial ? EXIT.partial : EXIT.done;
}

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
  let any = false;
  const writeAll = (texts: readonly string[]): void => {
    for (const text of texts) write(`${text}\n`);
    any ||= texts.length > 0;
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
  const isWell = failures.length === 0;
  write(`${any ? "\n" : ""}${summary(forecast, isWell ? paint : painter(false))}\n`);
  if (refresh) write(refreshText(refresh, paint));
  if (tokensMayBeMissingIn.length > 0) write(`${lackText(tokensMayBeMissingIn)}\n`);
  for (const { message, hint } of warnings)
    write(`${withHint(paint("yellow", `A sync would warn: ${printable(message, LONGEST_REASON)}`), hint)}\n`);
  for (const failure of failures) write(`${failureText(failure, paint)}\n`);
  write(`${paint("dim", `Tables: ${tablesText(tables)}.`)}\n`);
}

const needsAttention = ({ kind }: PlanEntry): boolean => kind === "rejected" || kind === "waiting";

/** If it is unsafe, a warning says so. */
function refreshText({ due, unsafe, hold }: NonNullable<SyncForecast["refresh"]>, paint: Paint): string {
  if (unsafe) return "";
  if (hold === null) return `Beyond that, ${quantity(due, "group")} to ask for again (service.refresh).\n`;
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
    case "cleared":
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

function summary({ plan, rotations }: SyncForecast, paint: Paint): string {
  const { guard } = plan;
  const numbers = forecastNumbers({ plan, rotations });
  if (numbers === null) return paint("green", `Nothing to do: ${quantity(plan.unchanged, "group")} in sync.`);
  const line = `${paint("bold", "Plan:")} ${numbers}.`;
  if (guard.kind === "allowed") return line;
  const { message, hint } = describeHeldRemovals(guard);
  return [line, paint("yellow", `Held: ${message}.`), `  ${hint}`].join("\n");
}

/** The lists of `plan --json`, each with the kinds of entries in it. */
const LISTS: readonly (readonly [name: string, kinds: readonly PlanEntry["kind"][]])[] = [
  ["create", ["create"]],
  ["update", ["update", "replace"]],
  ["delete", ["delete"]],
  ["missing", ["missing"]],
  ["gone", ["gone"]],
  ["waiting", ["waiting"]],
  ["outdated", ["outdated"]],
  ["rejected", ["rejected"]],
];

/** Writes the object of `plan --json` piece by piece, because a plan may be larger than the memory. */
export async function writePlanJson(
  { plan, tables, rotations, refresh, tokensMayBeMissingIn, failures, warnings }: SyncForecast,
  ledger: LedgerView,
  write: (text: string) => void,
): Promise<void> {
  const writeList = async (
    kinds: readonly PlanEntry["kind"][],
    jsonOf: (line: DetailedEntry) => object | undefined,
    first: readonly object[] = [],
  ): Promise<void> => {
    let separator = "";
    const writeItem = (json: object): void => {
      write(separator + JSON.stringify(json));
      separator = ",";
    };
    write("[");
    for (const json of first) writeItem(json);
    if (kinds.some((kind) => plan.counts[kind] > 0)) {
      for await (const line of detailedEntries(plan, ledger)) {
        const json = kinds.includes(line.entry.kind) ? jsonOf(line) : undefined;
        if (json !== undefined) writeItem(json);
      }
    }
    write("]");
  };

  write("{");
  for (const [name, kinds] of LISTS) {
    write(`"${name}":`);
    const first = name === "waiting" ? rotations.waiting.map(waitingJson) : [];
    await writeList(kinds, (line) => (isHeld(line.entry, plan) ? undefined : entryJson(line)), first);
    write(",");
  }
  write('"held":');
  if (plan.guard.kind === "allowed") write("null");
  else {
    const { approval: code, count, message } = describeHeldRemovals(plan.guard);
    write(`{"code":${JSON.stringify(code)},"count":${count},"message":${JSON.stringify(message)},"groups":`);
    await writeList(["replace", "delete", "missing"], ({ entry, name }) =>
      isHeld(entry, plan) ? heldJson(heldFrom(entry), name) : undefined,
    );
    write("}");
  }
  write(`,"rotate":${JSON.stringify(rotations.next.map(rotationJson))}`);
  write(
    `,"rotations_due":${rotations.total},"refresh_due":${refresh?.due ?? 0},"refresh_held":${JSON.stringify(refreshHoldJson(refresh?.hold ?? null))},"unchanged":${plan.unchanged},"not_ready":${plan.notReady}`,
  );
  write(`,"tables":${JSON.stringify(tables)}`);
  write(`,"tokens_may_be_missing_in":${JSON.stringify(tokensMayBeMissingIn)}`);
  write(`,"warnings":${JSON.stringify(warnings.map(messageJson))}`);
  write(`,"failures":${JSON.stringify(failures.map(messageJson))}}\n`);
}

const messageJson = ({ code, message, hint }: SyncError | Warning): object => ({
  code,
  message,
  hint: hint ?? null,
});

const rotationJson = ({ user_group_id, tokenSince }: RotationCandidate): object => ({
  user_group_id,
  token_since: tokenSince,
});

const waitingJson = ({ user_group_id, failure: { code, message, retryAt } }: FailedRotation): object => ({
  user_group_id,
  code,
  message,
  retry_at: retryAt,
});

function entryJson({ entry, changes, name }: DetailedEntry): object {
  const { user_group_id } = entry;
  switch (entry.kind) {
    case "create":
      return { user_group_id, name: entry.group.name };
    case "update":
    case "replace":
      return { user_group_id, action: entry.kind, name: entry.group.name, ...(changes ? { changes } : {}) };
    case "delete":
      return { user_group_id, name: name ?? null, absence: entry.absence };
    case "missing":
      return { user_group_id, name: name ?? null, absence: entry.absence, due_in_ms: entry.dueInMs };
    case "rejected":
      return { user_group_id, code: entry.code, message: entry.message };
    case "waiting":
      return { user_group_id, code: entry.code, message: entry.message, retry_at: entry.retryAt };
    case "outdated":
    case "gone":
    case "not_ready":
    case "left":
    case "returned":
    case "forgotten":
    case "cleared":
    case "settled":
      return { user_group_id };
  }
}

/** An entry of a plan. An update has the fields that change, if the ledger knows the old values. */
interface DetailedEntry {
  readonly entry: PlanEntry;
  readonly changes?: readonly FieldChange[];
  /** Of a group that is there: its name, as the service last told it. */
  readonly name?: string;
}

/** The plan's entries, ordered by id. Reads names and the old values of updates from the ledger, a batch at a time. */
async function* detailedEntries(
  plan: Plan,
  ledger: Pick<LedgerView, "confirmed" | "names">,
): AsyncGenerator<DetailedEntry> {
  for await (const entries of plan.entries.read()) {
    const updated = entries.filter(isUpdate).map((entry) => entry.user_group_id);
    const before = updated.length > 0 ? await ledger.confirmed(updated) : new Map<string, Group>();
    const named = entries.flatMap((entry) => (isNamed(entry) ? entry.user_group_id : []));
    const names = named.length > 0 ? await ledger.names(named) : new Map<string, string>();
    for (const entry of entries) {
      const known = isUpdate(entry) ? before.get(entry.user_group_id) : undefined;
      const name = isNamed(entry) ? names.get(entry.user_group_id) : undefined;
      yield {
        entry,
        ...(known && isUpdate(entry) && { changes: changedFields(known, entry.group) }),
        ...(name !== undefined && { name }),
      };
    }
  }
}

/** Of a group that may go, an operator wants to know whose it is. */
const isNamed = (entry: PlanEntry): entry is Removal | Missing =>
  entry.kind === "delete" || entry.kind === "replace" || entry.kind === "missing";

const isUpdate = (entry: PlanEntry): entry is Apply => entry.kind === "update" || entry.kind === "replace";
