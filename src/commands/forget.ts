import { Command } from "commander";
import { type Ask, askAtTerminal } from "../compose/host.ts";
import { using } from "../compose/opened.ts";
import type { SyncSetup } from "../compose/sync.ts";
import { SyncError } from "../core/failure/sync-error.ts";
import { exitCodeOfRun } from "../core/report/exit-code.ts";
import { printable } from "../core/text/printable.ts";
import { deleteAndForget, type Forgotten, forgetScope } from "../engine/forget.ts";
import { scopeOverview } from "../engine/scope/scope.ts";
import type { CommandContext, CommandIo } from "./context.ts";
import { type Forgetting, forgetJson, forgottenText, howToForget, overviewText } from "./output/forget.ts";

/** The ledger is that of the named scope. */
interface ForgetSetup extends SyncSetup {
  /** The `name` in the config. If it is another one, the service and the token stores are not those of the named scope. */
  readonly configName: string;
}

export interface ForgetFlags {
  readonly deleteGroups?: boolean;
  readonly yes?: boolean;
  readonly json?: boolean;
}

/** `groupsync forget`: retires a scope of the ledger. */
export const forgetCommand = ({ io, readConfig, observe }: CommandContext): Command =>
  new Command("forget")
    .description("retire a scope: show what the ledger keeps of it, and forget it once you confirm that")
    .argument("<NAME>", "the scope: the `name` in its config")
    .option("--delete-groups", "first delete the scope's groups and their tokens")
    .option("--yes", "don't ask for confirmation")
    .option("--json", "print one JSON object; asks nothing")
    .action(async (name: string, flags: ForgetFlags, command: Command) => {
      const { composeSync } = await import("../compose/sync.ts");
      const config = await readConfig(command);
      await using(await composeSync({ ...config, name }, io, observe), (setup) =>
        forget(name, { ...setup, configName: config.name }, flags, askAtTerminal(io), io),
      );
    });

/**
 * Shows what the ledger keeps of the scope, and forgets it if that is confirmed. `ask` is undefined if nobody is there to
 * ask.
 */
export async function forget(
  name: string,
  { ports, settings, configName }: ForgetSetup,
  flags: ForgetFlags,
  ask: Ask | undefined,
  io: CommandIo,
): Promise<void> {
  const isOwn = configName === name;
  const kept = await scopeOverview(name, ports.ledger);
  const isPlaceKnown = kept.destinations.length > 0 || !isOwn;
  const overview = isPlaceKnown ? kept : { ...kept, destinations: settings.tokenDestinations };
  const deletesGroups = flags.deleteGroups === true;
  if (deletesGroups && !isOwn) throw otherConfig(name, configName);
  const plan: Forgetting = { overview, isOwn, deletesGroups };
  if (!flags.json) io.stdout(overviewText(plan));
  if (!flags.yes && (flags.json || !(await isTyped(name, ask)))) {
    io.stdout(flags.json ? forgetJson(plan, undefined) : howToForget(plan));
    return;
  }
  const forgotten: Forgotten = deletesGroups
    ? await deleteAndForget(ports, settings, io.stop)
    : await forgetScope({ ...ports, tokens: isOwn ? ports.tokens : undefined }, settings, io.stop);
  io.stdout(flags.json ? forgetJson(plan, forgotten) : forgottenText(plan, forgotten, io.isTerminal));
  const { outcome, error } = forgotten.report;
  io.finish(exitCodeOfRun(outcome, error));
}

/** Whether a person has typed the name. False if there is nobody. */
const isTyped = async (name: string, ask: Ask | undefined): Promise<boolean> =>
  (await ask?.(`To forget it, type its name, ${printable(name)}: `)) === name;

const otherConfig = (name: string, configName: string): SyncError =>
  new SyncError(
    "CONFIG_OTHER_SCOPE",
    `the groups of ${JSON.stringify(name)} can be deleted only with its own config, and the \`name\` in this one is ${JSON.stringify(configName)}: another config may lead to another service, other keys and other tokens`,
    {
      hint: "run it with --config and that config; or leave out --delete-groups, and the groups stay at the service",
    },
  );
