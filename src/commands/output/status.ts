import { reasonsOf, rejectedRows } from "../../core/group/rejections.ts";
import type { Fact, Tone } from "../../core/report/card.ts";
import { type Dependency, dependenciesOf } from "../../core/report/dependencies.ts";
import { age, type Incident, incidentsOf } from "../../core/report/incidents.ts";
import type { LedgerStatus, PastRun, ScopeFacts } from "../../core/report/scope-facts.ts";
import { runText, scopeView } from "../../core/report/sections.ts";
import { durationText } from "../../core/text/quantity.ts";
import { heldJson, leaseJson, refreshHoldJson } from "./attention.ts";
import { painter } from "./colours.ts";
import { viewLines } from "./view.ts";

/** The longest error message in the list of runs, in characters. */
const LONGEST = 120;

const factsOf = (ledger: LedgerStatus): ScopeFacts => ({ ledger, daemon: null });

/** What the ledger knows: all that is wrong, with what helps; all else; the last runs. */
export function statusText(
  status: LedgerStatus,
  runs: readonly PastRun[],
  configPath: string,
  colours: boolean,
): string {
  const { names, readAt } = status;
  const { cards, sections } = scopeView(factsOf(status), readAt);
  const history = {
    id: "history",
    title: "Last runs",
    facts: runs.map((run, at) => runFact(run, at === 0, status)),
  };
  const view = { cards, sections: runs.length > 0 ? [...sections, history] : sections };
  return `${viewLines(view, { paint: painter(colours), configPath, names }).join("\n")}\n`;
}

function runFact(run: PastRun, isNewest: boolean, { readAt, lease }: LedgerStatus): Fact {
  const { command, startedAt, result } = run;
  // Only the newest run can still be running. Another run without an end was killed.
  const goesOn = !result && lease !== null && isNewest;
  const what = goesOn ? `running for ${durationText(age(startedAt, readAt))}` : runText(run, LONGEST);
  const outcome = result ? `${result.outcome.padEnd(7)}  ` : "";
  return { label: `${startedAt.toISOString()}  ${command}`, value: `${outcome}${what}` };
}

/** How the scope is, by the worst that is wrong. */
export const stateOf = (status: LedgerStatus): Tone =>
  scopeView(factsOf(status), status.readAt).cards[0]?.tone ?? "idle";

export function statusJson(status: LedgerStatus, runs: readonly PastRun[]): string {
  const { groups, oldestToken, held, failing, rejected, lease, service, readAt } = status;
  const { names, tables, missing, refreshHold } = status;
  const facts = factsOf(status);
  const object = {
    state: stateOf(status),
    incidents: incidentsOf(facts, readAt).map(incidentJson),
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
    runs: runs.map(({ id, command, startedAt, finishedAt, result }) => ({
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
      updates: service.updates,
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
