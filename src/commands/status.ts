import { Command, InvalidArgumentError, Option } from "commander";
import { using } from "../compose/opened.ts";
import { wentMissing } from "../core/deletion/missing-tenants.ts";
import type { DeletionPolicy } from "../core/plan/deletion-policy.ts";
import { shownTable } from "../core/tokens/destination.ts";
import { heldRefresh } from "../engine/refresh/held-refresh.ts";
import type { LedgerView } from "../ports/ledger/ledger.ts";
import type { CommandContext, CommandIo } from "./context.ts";
import { type KnownStatus, statusJson, statusText } from "./output/status.ts";

const EVER = new Date(0);

interface StatusSetup {
  readonly ledger: LedgerView;
  /** The scope: `name` in the config. */
  readonly name: string;
  readonly deletion: DeletionPolicy;
}

export interface StatusFlags {
  readonly runs: number;
  readonly json?: boolean;
}

/** `groupsync status`: prints what the ledger knows. Changes nothing and takes no lease. */
export const statusCommand = ({ io, readConfig }: CommandContext): Command =>
  new Command("status")
    .description("show what the ledger knows: groups, failures, rejected rows, runs, lease")
    .addOption(
      new Option("--runs <N>", "how many of the last runs to show").argParser(wholeNumber).default(10),
    )
    .option("--json", "print it as one JSON object")
    .action(async (flags: StatusFlags, command: Command) => {
      const { composeLedgerView } = await import("../compose/ledger-view.ts");
      const config = await readConfig(command);
      await using(await composeLedgerView(config, io), (ledger) =>
        status({ ledger, name: config.name, deletion: config.deletion }, flags, io),
      );
    });

export async function status(
  { ledger, ...guarded }: StatusSetup,
  { runs, json }: StatusFlags,
  io: CommandIo,
): Promise<void> {
  const now = new Date();
  const status = await ledger.status();
  const known: KnownStatus = {
    status,
    names: await ledger.names(status.held?.groups.map(({ user_group_id }) => user_group_id) ?? []),
    tables: {
      tokens: (await ledger.tokenTables()).map(shownTable),
      ledger: await ledger.ownTables(),
    },
    missing: wentMissing(await ledger.missing(), status.groups.total, guarded.deletion, now),
    refreshHold: await heldRefresh(ledger, guarded, now),
    runs: await ledger.history(EVER, runs),
    now,
  };
  io.stdout(json ? statusJson(known) : statusText(known, io.isTerminal));
}

function wholeNumber(text: string): number {
  const value = Number(text);
  if (/^\d+$/.test(text) && value >= 1 && Number.isSafeInteger(value)) return value;
  throw new InvalidArgumentError("It has to be a whole number from 1 on.");
}
