import { Command, Option } from "commander";
import { adviceFor, type ProbedConfig } from "../core/probe/advice.ts";
import { EXIT, exitCodeOfRun } from "../core/report/exit-code.ts";
import { forgetCanary, type ProbePorts, type ProbeSettings, probe } from "../engine/probe.ts";
import { type CommandIo, type Opened, using } from "./command-io.ts";
import { probeJson, probeText } from "./output/probe-report.ts";

export interface ProbeSetup {
  readonly ports: ProbePorts;
  readonly settings: ProbeSettings;
  readonly config: ProbedConfig;
}

/** Asks a person, and resolves to the line that was typed. */
export type Ask = (question: string) => Promise<string>;

interface Flags {
  readonly yes?: boolean;
  readonly forget?: string;
  readonly json?: boolean;
}

/** `groupsync probe`: finds out how the service behaves. `person` returns undefined if nobody is there to ask. */
export function probeCommand(
  io: CommandIo,
  open: (command: Command) => Promise<Opened<ProbeSetup>>,
  person: () => Ask | undefined,
): Command {
  return new Command("probe")
    .description("find out how the service behaves, with one group that is deleted again")
    .option("--yes", "begin without asking")
    .addOption(
      new Option("--forget <ID>", "you have deleted this canary by hand: no sync has to delete it").conflicts(
        "yes",
      ),
    )
    .option("--json", "print the findings as one JSON object")
    .action(async ({ yes = false, forget, json = false }: Flags, command: Command) => {
      const ask = yes || forget !== undefined ? undefined : person();
      if (!yes && forget === undefined && ask === undefined) {
        command.error(
          "error: this makes a group at the service and deletes it again: say --yes, because there is no terminal to ask on",
        );
      }
      await using(await open(command), async ({ ports, settings, config }) => {
        if (forget !== undefined) {
          const { error } = await forgetCanary(ports, settings, forget, io.signal);
          if (error) throw error;
          io.stdout(
            json ? `${JSON.stringify({ forgotten: forget })}\n` : `No sync deletes ${forget} any more.\n`,
          );
          return;
        }
        if (ask && !(await agrees(ask, settings))) {
          io.stderr("Nothing was sent.\n");
          io.finish(EXIT.failed);
          return;
        }
        const report = await probe(ports, settings, io.signal);
        const advice = report.findings ? adviceFor(report.findings, config) : [];
        io.stdout(json ? probeJson(report, advice) : probeText(report, advice, io.isTerminal));
        io.finish(exitCodeOfRun(report.run.outcome, report.run.error));
      });
    });
}

const agrees = async (ask: Ask, { baseUrl }: Pick<ProbeSettings, "baseUrl">): Promise<boolean> =>
  /^y(es)?$/i.test((await ask(introduction(baseUrl))).trim());

const introduction = (baseUrl: string): string =>
  `This makes one group, a canary, at ${baseUrl}, and deletes it again:
  1. GETs make it, ask for it once more, and give it another name
  2. POSTs rotate its token, and try the old token
  3. DELETEs with its own token, until one has its effect
About a dozen requests. No tenant's group, row or token is touched. If this is cut short, the next sync deletes the group.
Go on? [y/N] `;
