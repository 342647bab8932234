import { counted } from "../core/counted.ts";
import { printable, printableId } from "../core/printable.ts";
import { durationText } from "../core/progress.ts";
import type { FailingGroup, LedgerStatus, RecordedRun, RunResult } from "../ports/ledger.ts";
import { heldLines } from "./held-groups.ts";
import { outOfSyncText } from "./out-of-sync.ts";
import { type Paint, painter } from "./paint.ts";

const SHOWN_FAILURES = 20;
const LONGEST = 500;

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
  const lines = [
    verdict(status, paint),
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

function verdict({ groups, held, runs, lease }: LedgerStatus, paint: Paint): string {
  const [last] = runs;
  if (!last) return "Nothing has been synced yet.";
  if (last.result === null) {
    return lease
      ? "A run is going on."
      : paint("red", "The last run was killed; the next one settles what it left.");
  }
  const [command, { outcome, counts, error }] = telling(last.command, last.result, runs);
  if (outcome === "failed")
    return paint("red", `The last ${command} failed: ${error ? printable(error.message) : "unknown"}`);
  if (outcome === "held" && error)
    return paint("yellow", `Needs attention: ${printable(error.message, LONGEST)}.`);
  if (held) return paint("yellow", `Needs attention: ${counted(held.count, "removal")} held.`);
  const outOfSync = outOfSyncText({ ...counts, failed: groups.failing });
  if (outOfSync !== "") return paint("yellow", `Needs attention: ${outOfSync}.`);
  return outcome === "ok"
    ? paint("green", "All is well.")
    : paint("yellow", `The last ${command} ended ${outcome}.`);
}

/** The run that tells how things are. A rotation reads no rows: one that went well says nothing of them. */
function telling(
  command: string,
  result: RunResult,
  runs: readonly RecordedRun[],
): readonly [command: string, result: RunResult] {
  if (result.outcome === "failed") return [command, result];
  const sync = runs.find((run) => run.command === "sync" && run.result !== null);
  return sync?.result ? [sync.command, sync.result] : [command, result];
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
