import { Command } from "commander";
import type { LedgerStatus, LedgerView } from "../ports/ledger.ts";
import { heldJson } from "./held-groups.ts";
import { type CommandIo, type Opened, using } from "./io.ts";
import { statusText } from "./status-text.ts";

interface Flags {
  readonly json?: boolean;
}

/** `groupsync status`: what the ledger knows. Changes nothing and takes no lease. */
export function statusCommand(
  io: CommandIo,
  open: (command: Command) => Promise<Opened<LedgerView>>,
): Command {
  return new Command("status")
    .description("show what the ledger knows: groups, failures, runs, lease")
    .option("--json", "print it as one JSON object")
    .action(async (flags: Flags, command: Command) => {
      await using(await open(command), async (ledger) => {
        const status = await ledger.status();
        io.stdout(flags.json ? statusJson(status) : statusText(status, new Date(), io.isTerminal));
      });
    });
}

function statusJson({ groups, oldestToken, held, failing, runs, lease, service }: LedgerStatus): string {
  const object = {
    groups,
    tokens: { oldest: oldestToken },
    failing: failing.map(({ user_group_id, code, message, count, retryAt }) => ({
      user_group_id,
      code,
      message,
      count,
      retry_at: retryAt,
    })),
    held: held && { code: held.code, count: held.count, groups: held.groups.map(heldJson) },
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
    service: { base_url: service.baseUrl, team_id: service.teamId, updates: service.updates },
  };
  return `${JSON.stringify(object)}\n`;
}
