import { Command, Option } from "commander";
import { using } from "../compose/opened.ts";
import type { GroupEvent } from "../core/record/next.ts";
import { EXIT, exitCodeOfRun, isMostlyDone } from "../core/report/exit-code.ts";
import type { RunReport } from "../engine/report/run-report.ts";
import { sync } from "../engine/sync.ts";
import type { CommandContext } from "./context.ts";
import { onlyTenants } from "./context.ts";
import { reportJson, reportText } from "./output/report.ts";

interface Flags {
  readonly only?: readonly string[];
  readonly skipGrace?: boolean;
  readonly approveDeletions?: string;
  readonly verifyTokens?: boolean;
  readonly refresh?: boolean;
  readonly cancel?: boolean;
  readonly approveRefresh?: string;
  readonly acknowledgeSwitchover?: boolean;
  readonly allowPartial?: boolean;
  readonly json?: boolean;
}

export const syncCommand = ({ io, readConfig, observe }: CommandContext): Command =>
  new Command("sync")
    .description("make the groups equal to the tenants once, then exit")
    .addOption(onlyTenants())
    .addOption(
      new Option(
        "--skip-grace",
        "with --only: read the whole source, and if these tenants are gone, delete their groups now, without grace period or limit",
      ).conflicts(["approveDeletions", "refresh", "approveRefresh"]),
    )
    .option(
      "--approve-deletions <CODE>",
      "approve, once, the deletions and replacements that are held under this code",
    )
    .addOption(
      new Option(
        "--verify-tokens",
        "compare the token stores with the ledger, and restore tokens that somebody removed or changed",
        // It compares the tokens of all groups.
      ).conflicts("only"),
    )
    .option("--refresh", "ask the service for every group again, and repair what somebody else changed")
    .option("--cancel", "with --refresh: cancel the rest of an earlier refresh, and sync without it")
    .option("--approve-refresh <CODE>", "continue, once, the refresh that is held under this code")
    .addOption(
      new Option(
        "--acknowledge-switchover",
        "confirm that the ledger's database was moved without loss, so the move puts no group in doubt",
      ).conflicts(["only", "refresh", "approveRefresh"]),
    )
    .option(
      "--allow-partial",
      "exit with 0 instead of 3 if only rejected rows and failing groups are left, and at least one group is in sync",
    )
    .option("--json", "print the report as one JSON object")
    .action(async (flags: Flags, command: Command) => {
      if (flags.cancel && !flags.refresh) command.error("error: --cancel takes a --refresh back: give both");
      if (flags.skipGrace && !flags.only)
        command.error("error: --skip-grace is about the tenants that --only names: give both");
      const config = await readConfig(command);
      if (flags.skipGrace && config.deletion.when === "never")
        command.error(
          "error: --skip-grace deletes no group, because deletion.when is never: set it to absent or flagged",
        );
      const { composeSync } = await import("../compose/sync.ts");
      await using(await composeSync(config, io, observe), async ({ ports, settings }) => {
        const only = flags.only && new Set(flags.only);
        const options = {
          only,
          skipsGrace: flags.skipGrace,
          approval: flags.approveDeletions,
          verifyTokens: flags.verifyTokens,
          mark: markOf(flags),
          refreshApproval: flags.approveRefresh,
        };
        const report: RunReport = await sync(ports, settings, options, io.stop);
        io.stdout(flags.json ? reportJson(report) : reportText("sync", report, io.isTerminal));
        const isForgiven = flags.allowPartial && isMostlyDone(report);
        io.finish(isForgiven ? EXIT.done : exitCodeOfRun(report.outcome, report.error));
      });
    });

/** What the flags say of the groups. The ledger records it before the first call. */
function markOf({ refresh, cancel, approveRefresh, acknowledgeSwitchover }: Flags): GroupEvent | undefined {
  if (acknowledgeSwitchover) return { kind: "trusted", doubt: "rewind" };
  if (cancel) return { kind: "trusted", doubt: "operator" };
  return refresh || approveRefresh !== undefined ? { kind: "refresh_wanted" } : undefined;
}
