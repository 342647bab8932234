import { Command, InvalidArgumentError, Option } from "commander";
import { using } from "../compose/opened.ts";
import type { Config } from "../config/config.ts";
import { exitCodeOfTone } from "../core/report/exit-code.ts";
import { ledgerStatus } from "../engine/ledger-status.ts";
import type { LedgerView } from "../ports/ledger/ledger.ts";
import type { CommandContext, CommandIo, GlobalFlags } from "./context.ts";
import { stateOf, statusJson, statusText } from "./output/status.ts";

const EVER = new Date(0);

export interface StatusFlags extends Pick<GlobalFlags, "config"> {
  readonly runs: number;
  readonly json?: boolean;
  readonly exitCode?: boolean;
}

/** `groupsync status`: prints what the ledger knows. Changes nothing and takes no lease. */
export const statusCommand = ({ io, flagsOf, readConfig }: CommandContext): Command =>
  new Command("status")
    .description("show what the ledger knows: groups, failures, rejected rows, runs, lease")
    .addOption(
      new Option("--runs <N>", "how many of the last runs to show").argParser(wholeNumber).default(10),
    )
    .option("--json", "print it as one JSON object")
    .option("--exit-code", "exit 0 if all is well, 3 if something needs attention, 1 if nothing works")
    .action(async (flags: Omit<StatusFlags, "config">, command: Command) => {
      const { composeLedgerView } = await import("../compose/databases.ts");
      const config = await readConfig(command);
      await using(await composeLedgerView(config, io), (ledger) =>
        status(ledger, config, { ...flags, config: flagsOf(command).config }, io),
      );
    });

export async function status(
  ledger: LedgerView,
  config: Pick<Config, "name" | "deletion" | "rotation">,
  { runs, json, exitCode, config: configPath }: StatusFlags,
  io: CommandIo,
): Promise<void> {
  const known = await ledgerStatus(ledger, config, new Date());
  const shown = await ledger.history(EVER, runs);
  io.stdout(json ? statusJson(known, shown) : statusText(known, shown, configPath, io.isTerminal));
  if (exitCode) io.finish(exitCodeOfTone(stateOf(known)));
}

function wholeNumber(text: string): number {
  const value = Number(text);
  if (/^\d+$/.test(text) && value >= 1 && Number.isSafeInteger(value)) return value;
  throw new InvalidArgumentError("It has to be a whole number from 1 on.");
}
