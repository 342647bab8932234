import { Command, InvalidArgumentError, Option } from "commander";
import { type Ask, askAtTerminal } from "../compose/host.ts";
import { using } from "../compose/opened.ts";
import type { SyncSetup } from "../compose/sync.ts";
import { EXIT, exitCodeOfRun } from "../core/report/exit-code.ts";
import { parseDuration, quantity } from "../core/text/quantity.ts";
import { cancelRotations, groupsOf, type RotationSelection, rotate } from "../engine/rotate.ts";
import type { CommandContext, CommandIo } from "./context.ts";
import { onlyOption } from "./context.ts";
import { reportJson, reportText } from "./output/report.ts";

export interface RotateFlags {
  readonly only?: readonly string[];
  readonly olderThan?: number;
  readonly all?: boolean;
  readonly yes?: boolean;
  readonly dryRun?: boolean;
  readonly cancel?: boolean;
  readonly json?: boolean;
}

/** `groupsync rotate`: gives the selected groups new tokens now. */
export const rotateCommand = ({ io, readConfig, observe }: CommandContext): Command =>
  new Command("rotate")
    .description("give groups new tokens; the old tokens stop working at once")
    .addOption(onlyOption("this group, even if its tenant is gone").conflicts(["olderThan", "all"]))
    .addOption(
      new Option("--older-than <AGE>", "groups with tokens older than this age, such as 90d")
        .argParser(age)
        .conflicts("all"),
    )
    .option("--all", "all groups, even those that fail or whose tenants are gone")
    .option("--yes", "don't ask for confirmation")
    .addOption(new Option("--dry-run", "only show how many tokens would be rotated").conflicts("cancel"))
    .addOption(
      new Option(
        "--cancel",
        "cancel rotations that are not done yet: of the groups in --only, or else of all",
      ).conflicts(["olderThan", "all"]),
    )
    .option("--json", "print the report as one JSON object")
    .addHelpText(
      "after",
      "\nOne of --only, --older-than, --all and --cancel is required. What is asked for stays due: every later sync goes on with it until it is done.",
    )
    .action(async (flags: RotateFlags, command: Command) => {
      if (selectionOf(flags) === undefined && !flags.cancel)
        command.error(
          "error: say whose tokens: --only <ID>, --older-than <AGE> or --all; or --cancel to take back what is not done yet",
        );
      const ask = flags.json ? undefined : askAtTerminal(io);
      if (needsConsent(flags) && ask === undefined) {
        command.error(
          "error: the old tokens stop working at once: say --yes, because nobody can be asked without a terminal or with --json; --dry-run only counts them, and --cancel takes back what an earlier rotate has not done yet",
        );
      }
      const { composeSync } = await import("../compose/sync.ts");
      await using(await composeSync(await readConfig(command), io, observe), (setup) =>
        rotateAndPrint(setup, flags, ask, io),
      );
    });

/** Who names groups knows which tokens die. For many groups, the operator sees the number first. */
const needsConsent = ({ only, yes, dryRun, cancel }: RotateFlags): boolean =>
  only === undefined && !yes && !dryRun && !cancel;

/** Rotates, counts or takes back, as the flags say, and prints the report. */
export async function rotateAndPrint(
  { ports, settings }: SyncSetup,
  flags: RotateFlags,
  ask: Ask | undefined,
  io: CommandIo,
): Promise<void> {
  const selection = selectionOf(flags) ?? { kind: "all" };
  const count = async (): Promise<number> =>
    (await ports.ledger.sums({ kind: "existing", ...(await groupsOf(selection, ports)) })).counts.total;
  if (flags.dryRun) {
    const tokens = await count();
    io.stdout(flags.json ? `${JSON.stringify({ tokens })}\n` : `${quantity(tokens, "token")} to rotate\n`);
    return;
  }
  if (needsConsent(flags)) {
    const question = `This rotates ${quantity(await count(), "token")}: the old ones stop working at once.\nGo on? [y/N] `;
    if (ask === undefined || !/^y(es)?$/i.test((await ask(question)).trim())) {
      io.stderr("Nothing was changed.\n");
      io.finish(EXIT.failed);
      return;
    }
  }
  const report = flags.cancel
    ? await cancelRotations(ports, settings, flags.only && new Set(flags.only), io.stop)
    : await rotate(ports, settings, selection, io.stop);
  if (flags.cancel && !flags.json && report.error === undefined)
    io.stdout(`No new token is wanted any more${flags.only ? " for these groups" : ""}\n`);
  else io.stdout(flags.json ? reportJson(report) : reportText("rotation", report, io.isTerminal));
  io.finish(exitCodeOfRun(report.outcome, report.error));
}

/** Undefined if the flags choose nothing. */
function selectionOf({ only, olderThan, all }: RotateFlags): RotationSelection | undefined {
  if (only) return { kind: "only", ids: new Set(only) };
  if (olderThan !== undefined) return { kind: "older than", ageMs: olderThan };
  return all ? { kind: "all" } : undefined;
}

function age(text: string): number {
  const ms = parseDuration(text);
  if (ms === undefined) throw new InvalidArgumentError("Write it like 12h or 90d.");
  return ms;
}
