import { Command } from "commander";
import { SyncError } from "../core/failure/sync-error.ts";
import { exitCodeOfRun } from "../core/report/exit-code.ts";
import { deleteAndForget, type Forgotten, forgetScope } from "../engine/forget.ts";
import type { RunPorts, RunSettings } from "../engine/leased-run.ts";
import { scopeOverview } from "../engine/scope/scope.ts";
import type { Dialog } from "../ports/setup/dialog.ts";
import { type CommandIo, type Opened, using } from "./command-io.ts";
import { forgetJson } from "./forget/forget-json.ts";
import { type Forgetting, forgottenText, howToForget, overviewText } from "./forget/forget-text.ts";

export interface ForgetSetup {
  /** The ledger is that of the named scope. */
  readonly ports: RunPorts;
  readonly settings: RunSettings;
  /** The `name` in the config. If it is another one, the service and the token stores are not those of the named scope. */
  readonly configName: string;
}

export type OpenDialog = () => Promise<Pick<Dialog, "ask">>;

interface Flags {
  readonly deleteGroups?: boolean;
  readonly yes?: boolean;
  readonly json?: boolean;
}

/** `groupsync forget`: retires a scope of the ledger. `person` returns undefined if nobody is there to ask. */
export function forgetCommand(
  io: CommandIo,
  open: (command: Command, name: string) => Promise<Opened<ForgetSetup>>,
  person: () => OpenDialog | undefined,
): Command {
  const isConfirmed = async (name: string, { yes = false, json = false }: Flags): Promise<boolean> => {
    const openDialog = yes || json ? undefined : person();
    if (openDialog === undefined) return yes;
    const isOther = (typed: string) => (typed === name ? undefined : `type ${name}, or press Ctrl-C`);
    await (await openDialog()).ask(`To forget it, type its name: ${name}`, "", isOther);
    return true;
  };
  return new Command("forget")
    .description("retire a scope: show what the ledger keeps of it, and forget it once you confirm that")
    .argument("<NAME>", "the scope: the `name` in its config")
    .option("--delete-groups", "delete its groups at the service first, with their tokens")
    .option("--yes", "don't ask: forget it")
    .option("--json", "print one JSON object; asks nothing")
    .action(async (name: string, flags: Flags, command: Command) => {
      await using(await open(command, name), async ({ ports, settings, configName }) => {
        const isOwn = configName === name;
        const kept = await scopeOverview(name, ports.ledger);
        const isPlaceKnown = kept.destinations.length > 0 || !isOwn;
        const overview = isPlaceKnown ? kept : { ...kept, destinations: settings.tokenDestinations };
        const deletesGroups = flags.deleteGroups === true;
        if (deletesGroups && !isOwn) throw otherConfig(name, configName);
        const plan: Forgetting = { overview, isOwn, deletesGroups };
        if (!flags.json) io.stdout(overviewText(plan));
        if (!(await isConfirmed(name, flags))) {
          io.stdout(flags.json ? forgetJson(plan, undefined) : howToForget(plan));
          return;
        }
        const forgotten: Forgotten = deletesGroups
          ? await deleteAndForget(ports, settings, io.signal)
          : await forgetScope({ ...ports, tokens: isOwn ? ports.tokens : undefined }, settings, io.signal);
        io.stdout(flags.json ? forgetJson(plan, forgotten) : forgottenText(plan, forgotten, io.isTerminal));
        const { outcome, error } = forgotten.report;
        io.finish(exitCodeOfRun(outcome, error));
      });
    });
}

const otherConfig = (name: string, configName: string): SyncError =>
  new SyncError(
    "CONFIG_OTHER_SCOPE",
    `the groups of ${JSON.stringify(name)} can be deleted only with its own config, and the \`name\` in this one is ${JSON.stringify(configName)}: another config may lead to another service, other keys and other tokens`,
    {
      hint: "run it with --config and that config; or leave out --delete-groups, and the groups stay at the service",
    },
  );
