import { Command, InvalidArgumentError, Option } from "commander";
import { exitCodeOfRun } from "../core/report/exit-code.ts";
import { parseDuration } from "../core/text/quantity.ts";
import { type RotatePorts, type RotateSettings, rotate } from "../engine/rotate.ts";
import type { RotationSelection } from "../engine/rotation/rotation-selection.ts";
import { type CommandIo, type Opened, using } from "./command-io.ts";
import { onlyOption } from "./only-option.ts";
import { reportJson, reportText } from "./output/run-report.ts";

interface RotateSetup {
  readonly ports: RotatePorts;
  readonly settings: RotateSettings;
}

interface Flags {
  readonly only?: readonly string[];
  readonly olderThan?: number;
  readonly all?: boolean;
  readonly json?: boolean;
}

/** `groupsync rotate`: gives the selected groups new tokens now. `open` reads the config and connects. */
export function rotateCommand(
  io: CommandIo,
  open: (command: Command) => Promise<Opened<RotateSetup>>,
): Command {
  return new Command("rotate")
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
    .action(async (flags: Flags, command: Command) => {
      const selection = selectionOf(flags);
      if (selection === undefined) {
        command.error("error: say whose tokens: --only <ID>, --older-than <AGE> or --all");
        return;
      }
      await using(await open(command), async ({ ports, settings }) => {
        const report = await rotate(ports, settings, selection, io.signal);
        io.stdout(flags.json ? reportJson(report) : reportText("rotation", report, io.isTerminal));
        io.finish(exitCodeOfRun(report.outcome, report.error));
      });
    });
}

function selectionOf({ only, olderThan, all }: Flags): RotationSelection | undefined {
  if (only) return { kind: "only", ids: new Set(only) };
  if (olderThan !== undefined) return { kind: "older than", ageMs: olderThan };
  return all ? { kind: "all" } : undefined;
}

function age(text: string): number {
  const ms = parseDuration(text);
  if (ms === undefined) throw new InvalidArgumentError("Write it like 12h or 90d.");
  return ms;
}
