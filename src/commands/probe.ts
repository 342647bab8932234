import { Command, Option } from "commander";
import { type Ask, askAtTerminal } from "../compose/host.ts";
import { using } from "../compose/opened.ts";
import type { SyncSetup } from "../compose/sync.ts";
import { adviceFor, type ProbedConfig } from "../core/probe/advice.ts";
import { EXIT, exitCodeOfRun } from "../core/report/exit-code.ts";
import { forgetCanary, probe } from "../engine/probe.ts";
import type { CommandContext, CommandIo } from "./context.ts";
import { probeJson, probeText } from "./output/probe.ts";

export interface ProbeFlags {
  readonly yes?: boolean;
  readonly forget?: string;
  readonly json?: boolean;
}

/** `groupsync probe`: finds out how the service behaves. */
export const probeCommand = ({ io, readConfig, observe }: CommandContext): Command =>
  new Command("probe")
    .description("find out how the service behaves, with one group that is deleted again")
    .option("--yes", "don't ask for confirmation")
    .addOption(
      new Option("--forget <ID>", "forget this canary, because you deleted it by hand").conflicts("yes"),
    )
    .option("--json", "print the findings as one JSON object")
    .action(async ({ yes = false, forget, json = false }: ProbeFlags, command: Command) => {
      const ask = yes || forget !== undefined ? undefined : askAtTerminal(io);
      if (!yes && forget === undefined && ask === undefined) {
        command.error(
          "error: this makes a group at the service and deletes it again: say --yes, because there is no terminal to ask on",
        );
      }
      const { composeSync } = await import("../compose/sync.ts");
      const config = await readConfig(command);
      await using(await composeSync(config, io, observe), (setup) =>
        forget === undefined
          ? probeAndPrint(setup, config, { ask, json }, io)
          : forgetAndPrint(setup, forget, { json }, io),
      );
    });

/** Probes the service, if the person agrees or nobody is to be asked, and prints the findings. */
export async function probeAndPrint(
  { ports, settings }: SyncSetup,
  config: ProbedConfig,
  { ask, json }: { readonly ask: Ask | undefined; readonly json: boolean },
  io: CommandIo,
): Promise<void> {
  if (ask && !/^y(es)?$/i.test((await ask(introduction(settings.baseUrl))).trim())) {
    io.stderr("Nothing was sent.\n");
    io.finish(EXIT.failed);
    return;
  }
  const report = await probe(ports, settings, io.stop);
  const advice = report.findings ? adviceFor(report.findings, config) : [];
  io.stdout(json ? probeJson(report, advice) : probeText(report, advice, io.isTerminal));
  io.finish(exitCodeOfRun(report.run.outcome, report.run.error));
}

const introduction = (baseUrl: string): string =>
  `This makes one group, a canary, at ${baseUrl}, and deletes it again:
  1. GETs make it, ask for it once more, and give it another name
  2. POSTs rotate its token, and try the old token
  3. DELETEs with its own token, until the service takes one
About ten requests. No tenant's group, row or token is touched. If this is cut short, the next sync deletes the group.
Go on? [y/N] `;

/** Takes a canary that an operator has deleted by hand out of the ledger. */
export async function forgetAndPrint(
  { ports, settings }: SyncSetup,
  id: string,
  { json }: { readonly json: boolean },
  io: CommandIo,
): Promise<void> {
  const { error } = await forgetCanary(ports, settings, id, io.stop);
  if (error) throw error;
  io.stdout(json ? `${JSON.stringify({ forgotten: id })}\n` : `No sync deletes ${id} any more.\n`);
}
