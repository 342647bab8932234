import { counted } from "../core/counted.ts";
import { type Health, healthOf } from "../core/health.ts";
import { printable, printableId } from "../core/printable.ts";
import { durationText } from "../core/progress.ts";
import type { FailingGroup, LedgerStatus, RecordedRun } from "../ports/ledger.ts";
import { heldLines } from "./held-groups.ts";
import { type Paint, painter } from "./paint.ts";

const SHOWN_FAILURES = 20;

const COLOURS: Partial<Record<Health["kind"], Parameters<Paint>[0]>> = {
  killed: "red",
  failed: "red",
  held: "yellow",
  attention: "yellow",
  well: "green",
};

/** The ledger in a minute: is all well, then the numbers, then what needs attention, then the last runs. */
export function statusText(status: LedgerStatus, now: Date, colours: boolean): string {
  const paint = painter(colours);
  const { groups, oldestToken, held, failing, runs, lease, service } = status;
  const counts = [
    [groups.in_sync, "in sync"],
    [groups.under_way, "under way"],
    [groups.failing, "failing"],
    [groups.missing, "missing"],
    [groups.unverified, "unverified"],
  ] as const;
  const states = counts.flatMap(([count, state]) => (count > 0 ? [`${count} ${state}`] : []));
  const { kind, sentence } = healthOf(status);
  const colour = COLOURS[kind];
  const lines = [
    colour === undefined ? sentence : paint(colour, sentence),
    "",
    `Groups   ${[`${groups.total} in all`, ...states].join(", ")}`,
    `Tokens   ${oldestToken ? `oldest from ${oldestToken.toISOString()}` : "none yet"}`,
    `Service  ${service.baseUrl === null ? "not known yet" : `${service.baseUrl}, team ${service.teamId ?? "not known yet"}`}`,
    `Lease    ${lease ? `${lease.holder}, since ${lease.acquiredAt.toISOString()}` : "free"}`,
  ];
  if (held) {
    lines.push("", "Held", ...heldLines(held.groups, held.count).map((line) => `  ${line}`));
    lines.push(`  if they are meant to go: groupsync sync --approve-deletions ${held.code}`);
  }
  if (failing.length > 0) lines.push("", "Failing", ...failing.slice(0, SHOWN_FAILURES).map(failureLine));
  if (failing.length > SHOWN_FAILURES) lines.push("  … `groupsync status --json` lists more");
  if (runs.length > 0) lines.push("", "Last runs", ...runLines(runs, now, lease !== null));
  return `${lines.join("\n")}\n`;
}

const failureLine = ({ user_group_id, code, message, count, retryAt }: FailingGroup): string =>
  `  ${printableId(user_group_id)}  ${code} (${count} in a row, next try after ${retryAt.toISOString()}): ${printable(message)}`;

function runLines(runs: readonly RecordedRun[], now: Date, leaseHeld: boolean): string[] {
  const width = Math.max(...runs.map(({ command }) => command.length));
  return runs.map((run) => runLine({ ...run, command: run.command.padEnd(width) }, now, leaseHeld));
}

function runLine(
  { command, startedAt, finishedAt, result }: RecordedRun,
  now: Date,
  leaseHeld: boolean,
): string {
  const when = `  ${startedAt.toISOString()}  ${command}`;
  if (!result || !finishedAt) {
    return `${when}  ${leaseHeld ? `running for ${durationText(now.getTime() - startedAt.getTime())}` : "did not finish"}`;
  }
  const took = durationText(finishedAt.getTime() - startedAt.getTime());
  const changed = Object.entries(result.counts)
    .filter(([name, count]) => count > 0 && name !== "unchanged")
    .map(([name, count]) => `${count} ${name}`);
  const what =
    result.error && result.outcome === "failed"
      ? `${result.error.code}: ${printable(result.error.message)}`
      : changed.join(", ") || "nothing to do";
  return `${when}  ${result.outcome.padEnd(7)}  ${what}; ${counted(result.requests, "request")} in ${took}`;
}
