import { doesUpdate } from "../../core/apply/update-evidence.ts";
import { isAlarming } from "../../core/deletion/missing-tenants.ts";
import { approveRefreshCommand } from "../../core/drift/refresh.ts";
import type { FailingGroup } from "../../core/failure/group-failures.ts";
import { type RejectionReason, reasonsOf, rejectedRows } from "../../core/group/rejections.ts";
import { countsText } from "../../core/report/counts.ts";
import { healthOf, type Verdict } from "../../core/report/health.ts";
import { type ResolvedTables, tablesText } from "../../core/report/tables-text.ts";
import { printable, printableId } from "../../core/text/printable.ts";
import { durationText, quantity } from "../../core/text/quantity.ts";
import { GROUP_STATES, type LedgerStatus } from "../../engine/ledger-status.ts";
import type { KnownService, RecordedRun } from "../../ports/ledger/scope.ts";
import { heldJson, heldLines, leaseJson, leaseText, refreshHoldJson, remedyLines } from "./attention.ts";
import { type Paint, painter } from "./colours.ts";

/** What `status` has read of the ledger. */
export interface KnownStatus extends LedgerStatus {
  readonly tables: ResolvedTables;
  /** As many of the last runs as are to be shown. */
  readonly shownRuns: readonly RecordedRun[];
}

const SHOWN_FAILURES = 20;
const SHOWN_REASONS = 20;
const SHOWN_IDS = 5;
/** The longest error message in the list of runs, in characters. */
const LONGEST = 120;

/** All other kinds need attention. */
const COLOURS: Partial<Record<Verdict["kind"], Parameters<Paint>[0] | null>> = {
  killed: "red",
  failed: "red",
  unanswered: "red",
  empty: null,
  running: null,
  well: "green",
};

/** What the ledger knows: all that is wrong, the numbers, what needs attention, the last runs. */
export function statusText(status: KnownStatus, colours: boolean): string {
  const paint = painter(colours);
  const { groups, oldestToken, held, failing, rejected, lease, service } = status;
  const { names, tables, missing, refreshHold, shownRuns: runs, readAt: now } = status;
  const states = GROUP_STATES.flatMap((state) =>
    groups[state] > 0 ? [`${groups[state]} ${state.replace("_", " ")}`] : [],
  );
  const verdicts = healthOf({
    ...status,
    oldestWaitMs: oldestWaitMs(status),
    // No command asks the service, so its silence means nothing here.
    silentMs: 0,
  });
  const lines = [
    ...verdicts.map(({ kind, sentence }) => {
      const { [kind]: colour = "yellow" } = COLOURS;
      return colour === null ? sentence : paint(colour, sentence);
    }),
    "",
    `Groups   ${[`${groups.total} in all`, ...states].join(", ")}`,
    `Tokens   ${oldestToken ? `oldest from ${oldestToken.toISOString()}` : "none yet"}`,
    `Service  ${serviceText(service)}`,
    `Tables   ${tablesText(tables) || "not known yet"}`,
    `Lease    ${leaseText(lease)}`,
  ];
  if (isAlarming(missing))
    lines.push("", "Look at the source first: are these tenants really gone? `groupsync plan` names them.");
  if (held) {
    lines.push("", "Held", ...heldLines(held.groups, names, held.count).map((line) => `  ${line}`));
    lines.push(
      `  if they are meant to go: ${held.code === null ? "groupsync plan shows the code" : `groupsync sync --approve-deletions ${held.code}`}`,
    );
  }
  if (refreshHold)
    lines.push(
      "",
      "Held refresh",
      "  find out who has deleted these groups or changed their tokens: to ask for a group that is gone makes it again",
      `  if the refresh is to go on: ${approveRefreshCommand(refreshHold.approval)}`,
    );
  if (failing.length > 0) lines.push("", "Failing", ...failing.slice(0, SHOWN_FAILURES).map(failureLine));
  if (failing.length > SHOWN_FAILURES) lines.push("  … `groupsync status --json` lists more");
  lines.push(...remedyLines(failing));
  if (rejected.length > 0) {
    lines.push("", "Rejected", ...reasonsOf(rejected).slice(0, SHOWN_REASONS).map(reasonLine));
    lines.push("  correct the rows, or see docs/rows.md; their groups stay as they are");
  }
  if (runs.length > 0) lines.push("", "Last runs", ...runLines(runs, now, lease !== null));
  return `${lines.join("\n")}\n`;
}

const serviceText = ({ baseUrl, teamId, answeredAt }: KnownService): string =>
  baseUrl === null
    ? "not known yet"
    : `${printable(baseUrl)}, team ${teamId ?? "not known yet"}${answeredAt ? `, last answered well at ${answeredAt.toISOString()}` : ""}`;

/** Between two runs, what is under way is the change of a single tenant, or what a run has left. */
const oldestWaitMs = ({ groups, oldestUnsynced, runs, readAt }: LedgerStatus): number =>
  oldestUnsynced && groups.failing === 0 && runs[0]?.result ? readAt.getTime() - oldestUnsynced.getTime() : 0;

const failureLine = ({ user_group_id, code, message, since, count, retryAt }: FailingGroup): string =>
  `  ${printableId(user_group_id)}  ${code} (${count} in a row since ${since.toISOString()}, next try after ${retryAt.toISOString()}): ${printable(message)}`;

function reasonLine({ code, message, rows, since, ids }: RejectionReason): string {
  const named = ids.slice(0, SHOWN_IDS).map((id) => printableId(id));
  const all = [...named, ...(named.length > 0 && rows > named.length ? ["…"] : [])].join(", ");
  return `  ${quantity(rows, "row")}  ${code} (since ${since.toISOString()}): ${printable(message)}${all === "" ? "" : `: ${all}`}`;
}

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
