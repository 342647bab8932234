import { Command, InvalidArgumentError, Option } from "commander";
import { using } from "../compose/opened.ts";
import type { SyncSetup } from "../compose/sync.ts";
import { exitCodeOfRun } from "../core/report/exit-code.ts";
import { parseDuration } from "../core/text/quantity.ts";
import { rotate } from "../engine/rotate.ts";
import type { RotationSelection } from "../engine/rotation/rotation-selection.ts";
import type { CommandContext, CommandIo } from "./context.ts";
import { onlyOption } from "./only-option.ts";
import { reportJson, reportText } from "./output/report.ts";

export interface RotateFlags {
  readonly only?: readonly string[];
  readonly olderThan?: number;
  readonly all?: boolean;
  readonly json?: boolean;
}

/** `groupsync rotate`: gives the selected groups new tokens now. */
export const rotateCommand = ({ io, readConfig, observe }: CommandContext): Command =>
  new Command("rotate")
    .description("give groups new tokens, once; the old tokens stop working at once")
    .addOption(onlyOption("this group, even if its tenant is gone").conflicts(["olderThan", "all"]))
    .addOption(
      new Option("--older-than <AGE>", "groups whose tokens are older, such as 90d")
        .argParser(age)
        .conflicts("all"),
    )
    .option("--all", "all groups, even those that fail or whose tenants are gone")
    .option("--json", "print the report as one JSON object")
    .addHelpText("after", "\nOne of --only, --older-than and --all is required.")
    .action(async (flags: RotateFlags, command: Command) => {
      const selection = selectionOf(flags);
      if (selection === undefined) {
        command.error("error: say whose tokens: --only <ID>, --older-than <AGE> or --all");
        return;
      }
      const { composeSync } = await import("../compose/sync.ts");
      await using(await composeSync(await readConfig(command), io, observe), (setup) =>
        rotateAndPrint(setup, selection, flags, io),
      );
    });

export async function rotateAndPrint(
  { ports, settings }: SyncSetup,
  selection: RotationSelection,
  { json }: Pick<RotateFlags, "json">,
  io: CommandIo,
): Promise<void> {
  const report = await rotate(ports, settings, selection, io.stop);
  io.stdout(json ? reportJson(report) : reportText("rotation", report, io.isTerminal));
  io.finish(exitCodeOfRun(report.outcome, report.error));
}

/** Undefined if the flags choose nothing. */
export function selectionOf({ only, olderThan, all }: RotateFlags): RotationSelection | undefined {
  if (only) return { kind: "only", ids: new Set(only) };
  if (olderThan !== undefined) return { kind: "older than", ageMs: olderThan };
  return all ? { kind: "all" } : undefined;
}

function age(text: string): number {
  const ms = parseDuration(text);
  if (ms === undefined) throw new InvalidArgumentError("Write it like 12h or 90d.");
  return ms;
}
