import { Command, InvalidArgumentError, Option } from "commander";
import { wentMissing } from "../core/deletion/missing-tenants.ts";
import { reasonsOf, rejectedRows } from "../core/group/rejections.ts";
import type { DeletionPolicy } from "../core/plan/deletion-policy.ts";
import type { ResolvedTables } from "../core/report/tables-text.ts";
import { shownTable } from "../core/tokens/destination.ts";
import { heldRefresh } from "../engine/refresh/refresh-start.ts";
import type { LedgerView } from "../ports/ledger/ledger.ts";
import type { LedgerStatus, RecordedRun } from "../ports/ledger/scope.ts";
import { type CommandIo, type Opened, using } from "./command-io.ts";
import { heldJson, type Names, refreshHoldJson } from "./output/held.ts";
import { type Guards, statusText } from "./output/status-text.ts";

const EVER = new Date(0);

export interface StatusSetup {
  readonly ledger: LedgerView;
  /** The scope: `name` in the config. */
  readonly name: string;
  readonly deletion: DeletionPolicy;
}

interface Flags {
  readonly runs: number;
  readonly json?: boolean;
}

/** `groupsync status`: prints what the ledger knows. Changes nothing and takes no lease. */
export function statusCommand(
  io: CommandIo,
  open: (command: Command) => Promise<Opened<StatusSetup>>,
): Command {
  return new Command("status")
    .description("show what the ledger knows: groups, failures, rejected rows, runs, lease")
    .addOption(
      new Option("--runs <N>", "how many of the last runs to show").argParser(wholeNumber).default(10),
    )
    .option("--json", "print it as one JSON object")
    .action(async (flags: Flags, command: Command) => {
      await using(await open(command), async ({ ledger, ...guarded }) => {
        const now = new Date();
        const status = await ledger.status();
        const missing = wentMissing(await ledger.missing(), status.groups.total, guarded.deletion, now);
        const refreshHold = await heldRefresh(ledger, guarded, now);
        const runs = await ledger.history(EVER, flags.runs);
        const names = await ledger.names(status.held?.groups.map(({ user_group_id }) => user_group_id) ?? []);
        const tables = {
          tokens: (await ledger.tokenTables()).map(shownTable),
          ledger: await ledger.ownTables(),
        };
        io.stdout(
          flags.json
            ? statusJson(status, names, tables, { missing, refreshHold }, runs)
            : statusText(status, names, tables, { missing, refreshHold }, runs, now, io.isTerminal),
        );
      });
    });
}

function wholeNumber(text: string): number {
  const value = Number(text);
  if (/^\d+$/.test(text) && value >= 1 && Number.isSafeInteger(value)) return value;
  throw new InvalidArgumentError("It has to be a whole number from 1 on.");
}

function statusJson(
  { groups, oldestToken, held, failing, rejected, lease, service }: LedgerStatus,
  names: Names,
  tables: ResolvedTables,
  { missing, refreshHold }: Guards,
  runs: readonly RecordedRun[],
): string {
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
    lease: lease && { holder: lease.holder, acquired_at: lease.acquiredAt, expires_at: lease.expiresAt },
    service: {
      base_url: service.baseUrl,
      team_id: service.teamId,
      updates: service.updates,
      answered_at: service.answeredAt,
    },
  };
  return `${JSON.stringify(object)}\n`;
}
