import { doesUpdate } from "../../core/apply/update-evidence.ts";
import { reasonsOf, rejectedRows } from "../../core/group/rejections.ts";
import { type Dependency, dependenciesOf } from "../../core/report/dependencies.ts";
import { type IncidentItem, MOST_SHOWN } from "../../core/report/incident-details.ts";
import {
  age,
  type Headline,
  headlineIfWell,
  type Incident,
  incidentsOf,
} from "../../core/report/incidents.ts";
import type { ScopeFacts } from "../../core/report/scope-facts.ts";
import { runText, sectionsOf } from "../../core/report/sections.ts";
import { plainText, printable, withConfig } from "../../core/text/printable.ts";
import { durationText } from "../../core/text/quantity.ts";
import type { LedgerStatus } from "../../engine/ledger-status.ts";
import type { RecordedRun } from "../../ports/ledger/scope.ts";
import {
  heldJson,
  LONGEST_REASON,
  leaseJson,
  type Names,
  refreshHoldJson,
  remedyLines,
  tenantText,
} from "./attention.ts";
import { factLines, inTone, type Paint, painter } from "./colours.ts";

/** What `status` has read of the ledger. */
export interface KnownStatus extends LedgerStatus {
  /** As many of the last runs as are to be shown. */
  readonly shownRuns: readonly RecordedRun[];
}

/** The longest error message in the list of runs, in characters. */
const LONGEST = 120;

interface ShownStatus {
  readonly facts: ScopeFacts;
  readonly incidents: readonly Incident[];
  /** The worst incident, or what is said if there is none. */
  readonly headline: Headline;
}

export function shownStatus(status: KnownStatus): ShownStatus {
  const serving = { oldestMs: oldestWaitMs(status), failing: 0 };
  const facts = { ...status, ledger: status, serving, daemon: null };
  const incidents = incidentsOf(facts, status.readAt);
  return { facts, incidents, headline: incidents[0] ?? headlineIfWell(facts, status.readAt) };
}

/** What the ledger knows: all that is wrong, with what helps; all else; the last runs. */
export function statusText(status: KnownStatus, configPath: string, colours: boolean): string {
  const paint = painter(colours);
  const { lease, names, shownRuns: runs, readAt: now } = status;
  const { facts, incidents, headline } = shownStatus(status);
  const lines = [
    ...(incidents.length === 0 ? headlineLines(headline, paint) : []),
    ...incidents.flatMap((incident, index) => [
      ...(index > 0 ? [""] : []),
      ...headlineLines(incident, paint),
      ...incidentLines(incident, names, configPath),
    ]),
    ...sectionsOf(facts, now).flatMap((section) => ["", ...factLines(section.facts, paint)]),
    ...(runs.length > 0 ? ["", "Last runs", ...runLines(runs, now, lease !== null)] : []),
  ];
  return `${lines.join("\n")}\n`;
}

const headlineLines = ({ tone, sentence, advice }: Headline, paint: Paint): string[] => [
  inTone(paint, tone, sentence),
  ...advice.map((line) => `  ${printable(line, LONGEST_REASON)}`),
];

/** Since when, whom, why, and what helps. */
function incidentLines({ since, details, help, code }: Incident, names: Names, configPath: string): string[] {
  const { whom, items, more } = details ?? { whom: "", items: [], more: "" };
  return [
    ...(since ? [`  Since ${since.toISOString()}`] : []),
    ...(whom === "" ? [] : [`  ${whom}${items.length > 0 ? ":" : ""}`]),
    ...items.map((item) => `  ${itemLine(item, names)}`),
    ...(more === "" ? [] : [`    ${more}`]),
    ...remedyLines(items.flatMap(({ failure }) => failure ?? [])),
    ...help.map(({ when, command }) => `  ${when}: ${withConfig(command, configPath)}`),
    ...(code === null ? [] : [`  What ${code} means: groupsync help ${code}`]),
  ];
}

/** What, whom, why. */
function itemLine({ label, tenants, others, failure, note }: IncidentItem, names: Names): string {
  const shown = tenants.slice(0, MOST_SHOWN);
  const left = tenants.length - shown.length + others;
  const who = shown.map((id) => tenantText(id, names)).join(", ");
  const why = failure ? `${failure.code} (${plainText(note)}): ${printable(failure.message)}` : "";
  const parts = [label, `${who}${left > 0 ? ` and ${left} more` : ""}`, why];
  return `  ${parts.filter((part) => part !== "").join("  ")}`;
}

/** Between two runs, what is under way is the change of a single tenant, or what a run has left. */
const oldestWaitMs = ({ groups, oldestUnsynced, runs, readAt }: LedgerStatus): number =>
  oldestUnsynced && groups.failing === 0 && runs[0]?.result ? readAt.getTime() - oldestUnsynced.getTime() : 0;

function runLines(runs: readonly RecordedRun[], now: Date, leaseHeld: boolean): string[] {
  const width = Math.max(...runs.map(({ command }) => command.length));
  return runs.map((run, index) => {
    const { command, startedAt, result } = run;
    // Only the newest run can still be running. Another run without an end was killed.
    const goesOn = !result && leaseHeld && index === 0;
    const what = goesOn ? `running for ${durationText(age(startedAt, now))}` : runText(run, LONGEST);
    const outcome = result ? `${result.outcome.padEnd(7)}  ` : "";
    return `  ${startedAt.toISOString()}  ${command.padEnd(width)}  ${outcome}${what}`;
  });
}

/** The object of `status --json`. */
export function statusJson(status: KnownStatus): string {
  const { groups, oldestToken, held, failing, rejected, lease, service } = status;
  const { names, tables, missing, refreshHold, shownRuns } = status;
  const { facts, incidents, headline } = shownStatus(status);
  const object = {
    state: headline.tone,
    incidents: incidents.map(incidentJson),
    dependencies: dependenciesOf(facts).map(dependencyJson),
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

const incidentJson = ({ kind, tone, code, sentence, since, help }: Incident): object => ({
  ...{ kind, state: tone, code, sentence, since: since ?? null },
  commands: help.map(({ command }) => command),
});

const dependencyJson = ({ name, tone, contact, error }: Dependency): object => ({
  ...{ name, state: tone, last_contact: contact?.at ?? null, last_error: error },
});
