import { Command } from "commander";
import { SyncError } from "../core/failure/sync-error.ts";
import { EXIT } from "../core/report/exit-code.ts";
import { type CheckResult, startChecks } from "../engine/check/run-checks.ts";
import type { Check } from "../ports/check.ts";
import type { Clock } from "../ports/clock.ts";
import type { CommandIo } from "./command-io.ts";
import { checkJson, hasFailed } from "./output/check-json.ts";
import { checkText, summaryText } from "./output/check-text.ts";

export interface CheckSetup {
  /** Those of one list run one after the other. */
  readonly checks: readonly (readonly Check[])[];
  readonly clock: Clock;
  /** How long one check may take, in milliseconds. */
  readonly limitMs: number;
}

/** What the operator allows beyond what leaves no trace. */
export interface CheckOptions {
  /** To write a secret to a store that remembers it for a while after it is deleted. */
  readonly canary: boolean;
  /** To send a test to the webhook and the heartbeat. */
  readonly notify: boolean;
}

interface Flags extends Partial<CheckOptions> {
  readonly json?: boolean;
}

/**
 * `groupsync check`: tries everything that a sync needs, and leaves everything as it was. Prints all that it finds, and exits
 * with 1 if a sync or the daemon could not do its work.
 */
export function checkCommand(
  io: CommandIo,
  open: (command: Command, options: CheckOptions) => Promise<CheckSetup>,
): Command {
  return new Command("check")
    .description("try everything that a sync needs; changes nothing")
    .option("--canary", "write a secret to the secret stores, and delete it: its name stays there for days")
    .option("--notify", "send a test to notify.webhook and notify.heartbeat")
    .option("--json", "print the findings as one JSON object")
    .action(async ({ json, canary = false, notify = false }: Flags, command: Command) => {
      const { checks, clock, limitMs } = await open(command, { canary, notify });
      const widest = Math.max(...checks.flat().map(({ name }) => name.length));
      const results: CheckResult[] = [];
      for (const ending of startChecks(checks, { clock, limitMs, stop: io.signal })) {
        const result = await ending;
        if (io.signal.aborted) throw new SyncError("INTERRUPTED", "told to stop before all checks had ended");
        results.push(result);
        if (!json) io.stdout(checkText(result, widest, io.isTerminal));
      }
      io.stdout(json ? checkJson(results) : summaryText(results, io.isTerminal));
      if (hasFailed(results)) io.finish(EXIT.failed);
    });
}
