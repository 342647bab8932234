import { Command, InvalidArgumentError, Option } from "commander";
import { parseDuration } from "../core/duration.ts";
import { exitCodeOfRun } from "../core/exit-code.ts";
import type { RunPorts } from "../engine/leased-run.ts";
import { type RotateSettings, rotate } from "../engine/rotate.ts";
import type { RotationSelection } from "../engine/rotation-selection.ts";
import { collect } from "./collect.ts";
import { type CommandIo, type Opened, using } from "./io.ts";
import { syncJson, syncText } from "./sync-report.ts";

export interface RotateSetup {
  readonly ports: RunPorts;
  readonly settings: RotateSettings;
}

interface Flags {
  readonly only?: readonly string[];
  readonly olderThan?: number;
  readonly all?: boolean;
  readonly json?: boolean;
}

/** `groupsync rotate`: new tokens for the groups that are named, at once and in this process. */
export function rotateCommand(
  io: CommandIo,
  open: (command: Command) => Promise<Opened<RotateSetup>>,
): Command {
  return new Command("rotate")
    .description("replace tokens by new ones; the old ones are dead at once")
    .addOption(
      new Option("--only <ID>", "of this group alone (repeatable)")
        .argParser(collect)
        .conflicts(["olderThan", "all"]),
    )
    .addOption(new Option("--older-than <AGE>", "that are older, like 90d").argParser(age).conflicts("all"))
    .option("--all", "of every group whose tenant is not gone")
    .option("--json", "print the report as one JSON object")
    .action(async (flags: Flags, command: Command) => {
      const selection = selectionOf(flags);
      if (selection === undefined) {
        command.error("error: say whose tokens: --only <ID>, --older-than <AGE> or --all");
        return;
      }
      await using(await open(command), async ({ ports, settings }) => {
        const report = await rotate(ports, settings, selection, io.signal);
        io.stdout(flags.json ? syncJson(report) : syncText(report, io.isTerminal, "Rotated"));
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
