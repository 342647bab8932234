import { doesUpdate } from "../../core/apply/update-evidence.ts";
import { reasonsOf, rejectedRows } from "../../core/group/rejections.ts";
import { countsText } from "../../core/report/counts.ts";
import type { IncidentDetails, IncidentItem } from "../../core/report/incident-details.ts";
import { type Headline, headlineIfWell, incidentsOf } from "../../core/report/incidents.ts";
import { type ResolvedTables, tablesText } from "../../core/report/tables-text.ts";
import { plainText, printable } from "../../core/text/printable.ts";
import { durationText, quantity } from "../../core/text/quantity.ts";
import { GROUP_STATES, type LedgerStatus } from "../../engine/ledger-status.ts";
import type { KnownService, RecordedRun } from "../../ports/ledger/scope.ts";
import {
  heldJson,
  LONGEST_REASON,
  leaseJson,
  leaseText,
  type Names,
  refreshHoldJson,
  remedyLines,
  tenantText,
} from "./attention.ts";
import { inTone, painter } from "./colours.ts";

/** What `status` has read of the ledger. */
export interface KnownStatus extends LedgerStatus {
  readonly tables: ResolvedTables;
  /** As many of the last runs as are to be shown. */
  readonly shownRuns: readonly RecordedRun[];
}

/** The longest error message in the list of runs, in characters. */
const LONGEST = 120;

/** What the ledger knows: all that is wrong, the numbers, what needs attention, the last runs. */
export function statusText(status: KnownStatus, colours: boolean): string {
  const paint = painter(colours);
  const { groups, oldestToken, lease, service, names, tables, shownRuns: runs, readAt: now } = status;
  const serving = { oldestMs: oldestWaitMs(status), failing: 0 };
  const facts = { ...status, ledger: status, serving, daemon: null };
  const incidents = incidentsOf(facts, now);
  const headlines: readonly Headline[] = incidents.length > 0 ? incidents : [headlineIfWell(facts, now)];
  const states = GROUP_STATES.flatMap((state) =>
    groups[state] > 0 ? [`${groups[state]} ${state.replace("_", " ")}`] : [],
  );
  const lines = [
    ...headlines.flatMap(({ tone, sentence, advice }) => [
      inTone(paint, tone, sentence),
      ...advice.map((line) => `  ${printable(line, LONGEST_REASON)}`),
    ]),
    "",
    `Groups   ${[`${groups.total} in all`, ...states].join(", ")}`,
    `Tokens   ${oldestToken ? `oldest from ${oldestToken.toISOString()}` : "none yet"}`,
    `Service  ${serviceText(service)}`,
    `Tables   ${tablesText(tables) || "not known yet"}`,
    `Lease    ${leaseText(lease)}`,
    ...incidents.flatMap(({ details }) => (details ? ["", ...detailsLines(details, names)] : [])),
    ...(runs.length > 0 ? ["", "Last runs", ...runLines(runs, now, lease !== null)] : []),
  ];
  return `${lines.join("\n")}\n`;
}

/** Which groups or rows an incident is about, what helps against their failures, and the command that helps. */
function detailsLines({ title, items, more, help }: IncidentDetails, names: Names): string[] {
  const failures = items.flatMap(({ failure }) => failure ?? []);
  return [
    title,
    ...items.map((item) => itemLine(item, names)),
    ...(more.count > 0 ? [`  … and ${more.count} more; ${more.command} lists them`] : []),
    ...remedyLines(failures),
    ...(help ? [`  ${help.when}: ${help.command}`] : []),
  ];
}

/** What, whom, why. */
function itemLine({ label, tenants, others, failure, note }: IncidentItem, names: Names): string {
  const who = tenants.map((id) => tenantText(id, names)).join(", ");
  const andOthers = others > 0 ? ` and ${others} more` : "";
  const why = failure ? `${failure.code} (${plainText(note)}): ${printable(failure.message)}` : "";
  return `  ${[label, `${who}${andOthers}`, why].filter((part) => part !== "").join("  ")}`;
}

const serviceText = ({ baseUrl, teamId, answeredAt }: KnownService): string =>
  baseUrl === null
    ? "not known yet"
    : `${printable(baseUrl)}, team ${teamId ?? "not known yet"}${answeredAt ? `, last answered well at ${answeredAt.toISOString()}` : ""}`;

/** Between two runs, what is under way is the change of a single tenant, or what a run has left. */
const oldestWaitMs = ({ groups, oldestUnsynced, runs, readAt }: LedgerStatus): number =>
  oldestUnsynced && groups.failing === 0 && runs[0]?.result ? readAt.getTime() - oldestUnsynced.getTime() : 0;

function runLines(runs: readonly RecordedRun[], now: Date, leaseHeld: boolean): string[] {
  const width = Math.max(...runs.map(({ command }) => command.length));
  // Only the newest run can still be running. Another run without an end was killed.
  return runs.map((run, index) =>
    runLine({ ...run, command: run.command.padEnd(width) }, now, leaseHeld && index === 0),
  );
}

function runLine(
  { command, startedAt, finishedAt, result }: RecordedRun,
  now: Date,
  mayGoOn: boolean,
): string {
  const when = `  ${startedAt.toISOString()}  ${command}`;
  if (!result || !finishedAt) {
    return `${when}  ${mayGoOn ? `running for ${durationText(now.getTime() - startedAt.getTime())}` : "did not finish"}`;
  }
  const { outcome, counts, requests, error } = result;
  const changed = countsText({ ...counts, unchanged: 0 });
  const what = [
    // A probe changes no group of a tenant.
    ...(changed === "" && (error || command === "probe") ? [] : [changed || "nothing to do"]),
    `${quantity(requests, "request")} in ${durationText(finishedAt.getTime() - startedAt.getTime())}`,
    ...(error ? [`${error.code}: ${printable(error.message, LONGEST)}`] : []),
  ];
  return `${when}  ${outcome.padEnd(7)}  ${what.join("; ")}`;
}

/** The object of `status --json`. */
export function statusJson(status: KnownStatus): string {
  const { groups, oldestToken, held, failing, rejected, lease, service } = status;
  const { names, tables, missing, refreshHold, shownRuns } = status;
  const object = {
    groups,
    went_missing: { count: missing.count, allowed: missing.allowed, to_be_held: missing.toBeHeld },
    tokens: { oldest: oldestToken },
    tables,
    failing: failing.map(({ user_group_id, code, message, since, count, retryAt }) => ({
      user_group_id,
      code,
      message,
      since,
      count,
      retry_at: retryAt,
    })),
    rejected: {
      count: rejectedRows(rejected),
      reasons: reasonsOf(rejected).map(({ code, message, rows, since }) => ({ code, message, rows, since })),
      rows: rejected.flatMap(({ user_group_id, code, message, since }) =>
        user_group_id === null ? [] : [{ user_group_id, code, message, since }],
      ),
    },
    held: held && {
      code: held.code,
      count: held.count,
      groups: held.groups.map((group) => heldJson(group, names.get(group.user_group_id))),
    },
    refresh_held: refreshHoldJson(refreshHold),
    runs: shownRuns.map(({ id, command, startedAt, finishedAt, result }) => ({
      id,
      command,
      started_at: startedAt,
      finished_at: finishedAt,
      outcome: result?.outcome ?? null,
      ...result?.counts,
      requests: result?.requests ?? null,
      error: result?.error ?? null,
    })),
    lease: leaseJson(lease),
    service: {
      base_url: service.baseUrl,
      team_id: service.teamId,
      updates: doesUpdate(service.evidence),
      answered_at: service.answeredAt,
    },
  };
  return `${JSON.stringify(object)}\n`;
}
