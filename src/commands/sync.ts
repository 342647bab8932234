import { Command, Option } from "commander";
import { exitCodeOfRun } from "../core/exit-code.ts";
import type { RunReport } from "../engine/report.ts";
import { type SyncPorts, type SyncSettings, sync } from "../engine/sync.ts";
import { collect } from "./collect.ts";
import { type CommandIo, type Opened, using } from "./io.ts";
import { reportJson, reportText } from "./run-report.ts";

export interface SyncSetup {
  readonly ports: SyncPorts;
  readonly settings: SyncSettings;
}

interface Flags {
  readonly only?: readonly string[];
  readonly approveDeletions?: string;
  readonly verifyTokens?: boolean;
  readonly json?: boolean;
}

/** `groupsync sync`: one full sync. `open` reads the config and connects. */
export function syncCommand(io: CommandIo, open: (command: Command) => Promise<Opened<SyncSetup>>): Command {
  return new Command("sync")
    .description("make the groups equal to the tenants once, then exit")
    .option("--only <ID>", "this tenant alone, even if its next try is not due (repeatable)", collect)
    .option(
      "--approve-deletions <CODE>",
      "do the deletions and replacements that are held under this code, once",
    )
    .addOption(
      new Option(
        "--verify-tokens",
        "look into the token stores, and write again what somebody removed or changed there",
        // It looks at every group's.
      ).conflicts("only"),
    )
    .option("--json", "print the report as one JSON object")
    .action(async (flags: Flags, command: Command) => {
      await using(await open(command), async ({ ports, settings }) => {
        const only = flags.only && new Set(flags.only);
        const options = { only, approval: flags.approveDeletions, verifyTokens: flags.verifyTokens };
        const report: RunReport = await sync(ports, settings, options, io.signal);
        io.stdout(flags.json ? reportJson(report) : reportText("sync", report, io.isTerminal));
        io.finish(exitCodeOfRun(report.outcome, report.error));
      });
    });
}
