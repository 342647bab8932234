import { Command } from "commander";
import { type Ask, lineOf, using } from "../compose/host.ts";
import { SyncError } from "../core/failure/sync-error.ts";
import { exitCodeOfRun } from "../core/report/exit-code.ts";
import { printable, shellWord } from "../core/text/printable.ts";
import { quantity } from "../core/text/quantity.ts";
import { deleteAndForget, type Forgotten, forgetScope } from "../engine/forget.ts";
import type { RunPorts, RunSettings } from "../engine/leased-run.ts";
import { type ScopeOverview, scopeOverview } from "../engine/scope/scope-overview.ts";
import type { CommandContext, CommandIo } from "./context.ts";
import { errorLines } from "./output/attention.ts";
import { painter } from "./output/colours.ts";

interface ForgetSetup {
  /** The ledger is that of the named scope. */
  readonly ports: RunPorts;
  readonly settings: RunSettings;
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
    .option("--delete-groups", "delete its groups at the service first, with their tokens")
    .option("--yes", "don't ask: forget it")
    .option("--json", "print one JSON object; asks nothing")
    .action(async (name: string, flags: ForgetFlags, command: Command) => {
      const { composeSync } = await import("../compose/sync.ts");
      const config = await readConfig(command);
      await using(await composeSync({ ...config, name }, io, observe), (setup) =>
        forget(name, { ...setup, configName: config.name }, flags, lineOf(io), io),
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

/** What the operator wants to have forgotten, and how. */
interface Forgetting {
  readonly overview: ScopeOverview;
  /** Whether the config is that of the scope: then the scope's tokens can be reached. */
  readonly isOwn: boolean;
  readonly deletesGroups: boolean;
}

/** What the ledger keeps of a scope, and what stays behind if it is forgotten. */
function overviewText(plan: Forgetting): string {
  const { name, existing, groups, service, destinations, runs, lease } = plan.overview;
  const [last] = runs;
  const lines = [
    `Scope ${JSON.stringify(name)}`,
    "",
    `Groups    ${existing}`,
    ...(groups.under_way > 0
      ? [`Under way ${groups.under_way}: nobody knows yet how far their last changes came`]
      : []),
    `Service   ${service.baseUrl === null ? "not known" : `${printable(service.baseUrl)}, team ${service.teamId ?? "not known"}`}`,
    `Tokens    ${destinations.map((place) => printable(place)).join(", ") || "in a place that the ledger doesn't know"}`,
    `Last run  ${last === undefined ? "none" : `${last.command}, ${last.startedAt.toISOString()}, ${last.result?.outcome ?? "not ended"}`}`,
    `Lease     ${lease === null ? "free" : `${printable(lease.holder)}, since ${lease.acquiredAt.toISOString()}: has to be stopped first`}`,
    "",
    ...consequences(plan),
  ];
  return `${lines.join("\n")}\n`;
}

function consequences({ overview, isOwn, deletesGroups }: Forgetting): string[] {
  const { existing, groups, canary } = overview;
  if (deletesGroups)
    return [
      `Forgetting it with --delete-groups deletes ${existing === 1 ? "this group" : `these ${quantity(existing, "group")}`} at the service, without a grace period or a limit,`,
      "and their tokens where they are stored. Then the ledger forgets the scope, with its history.",
    ];
  return [
    "Forgetting it takes its groups, tokens' fingerprints and history out of the ledger. What stays:",
    ...(canary === null ? [] : [`  ${printable(canary)}, the canary of a probe, at the service`]),
    `  the groups at the service${groups.under_way > 0 ? ", those under way as far as they came" : ""}`,
    "  their tokens where they are stored; they go on working",
    ...(isOwn ? [] : ["  the owner's marks beside the tokens, because this is not the scope's own config"]),
    "Nobody deletes these groups afterwards. --delete-groups deletes them first.",
  ];
}

/** For an operator who has not confirmed it. */
const howToForget = ({ overview: { name }, deletesGroups }: Forgetting): string =>
  `Nothing was changed. To forget it: groupsync forget ${shellWord(name)}${deletesGroups ? " --delete-groups" : ""} --yes\n`;

/** What has become of the scope. */
function forgottenText(plan: Forgetting, { report, isForgotten, free }: Forgotten, colours: boolean): string {
  const paint = painter(colours);
  const { overview, isOwn, deletesGroups } = plan;
  const { counts, requests, errors, error } = report;
  const name = JSON.stringify(overview.name);
  const deleted = deletesGroups
    ? [`  ${quantity(counts.deleted, "group")} deleted; ${quantity(requests, "request")}`]
    : [`  ${quantity(overview.existing, "group")} left at the service`];
  if (!isForgotten)
    return lines([
      error
        ? paint("red", `The scope ${name} is not forgotten: ${printable(error.message, 2_000)}`)
        : paint(
            "yellow",
            `The scope ${name} is not forgotten: ${quantity(counts.failed, "group")} could not be deleted`,
          ),
      ...(error?.hint === undefined ? [] : [`  ${printable(error.hint, 2_000)}`]),
      ...deleted,
      ...errorLines(errors.filter(({ message }) => message !== error?.message)),
      "  what is left stays in the ledger; run the same command again to go on",
    ]);
  return lines([
    paint("green", `The scope ${name} is forgotten`),
    ...deleted,
    ...free.map((title) => `  ${printable(title)} can be used by another config now`),
    ...(isOwn
      ? []
      : ["  another config that wants the place of its tokens is told how to take the owner's mark away"]),
  ]);
}

const lines = (all: readonly string[]): string => `${all.join("\n")}\n`;

/** The object of `forget --json`. `forgotten` is undefined if nothing was to be changed yet. */
function forgetJson({ overview, deletesGroups }: Forgetting, forgotten: Forgotten | undefined): string {
  const { name, existing, groups, service, destinations, runs, lease } = overview;
  const [last] = runs;
  const object = {
    scope: name,
    forgotten: forgotten?.isForgotten ?? false,
    groups: existing,
    under_way: groups.under_way,
    service: { base_url: service.baseUrl, team_id: service.teamId },
    tokens: destinations,
    last_run: last ? { command: last.command, started_at: last.startedAt } : null,
    lease: lease && { holder: lease.holder, acquired_at: lease.acquiredAt, expires_at: lease.expiresAt },
    delete_groups: deletesGroups,
    deleted: forgotten?.report.counts.deleted ?? 0,
    failed: forgotten?.report.counts.failed ?? 0,
    requests: forgotten?.report.requests ?? 0,
    free: forgotten?.free ?? [],
    errors: forgotten?.report.errors ?? [],
  };
  return `${JSON.stringify(object)}\n`;
}
