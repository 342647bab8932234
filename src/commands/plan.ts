import { Command } from "commander";
import type { DecisionContext } from "../core/decide.ts";
import { EXIT, type ExitCode } from "../core/exit-code.ts";
import type { GroupRules } from "../core/rule.ts";
import { type Plan, type PlanPorts, planRun } from "../engine/plan.ts";
import { type CommandIo, type Opened, using } from "./io.ts";
import { writePlanJson } from "./plan-json.ts";
import { writePlanText } from "./plan-text.ts";

export interface PlanSetup {
  readonly ports: PlanPorts;
  readonly rules: GroupRules;
  readonly context: (serviceUpdates: boolean | null) => DecisionContext;
}

interface Flags {
  readonly json?: boolean;
  readonly detailedExitcode?: boolean;
}

/** `groupsync plan`: reads the source and the ledger, sends nothing to the service, changes nothing. */
export function planCommand(io: CommandIo, open: (command: Command) => Promise<Opened<PlanSetup>>): Command {
  return new Command("plan")
    .description("show what sync would do; sends nothing to the service")
    .option("--json", "print the plan as one JSON object")
    .option("--detailed-exitcode", "exit with 2 when there is something to do")
    .action(async (flags: Flags, command: Command) => {
      await using(await open(command), async ({ ports, rules, context }) => {
        const { updates, baseUrl } = await ports.ledger.service();
        const plan = await planRun(ports, rules, context(updates), { ledgerIsNew: baseUrl === null });
        try {
          if (flags.json) await writePlanJson(plan, ports.ledger, io.stdout);
          else await writePlanText(plan, ports.ledger, io.stdout, io.isTerminal);
        } finally {
          plan.entries.close();
        }
        if (flags.detailedExitcode) io.finish(detailedExitCode(plan));
      });
    });
}

function detailedExitCode({ counts }: Plan): ExitCode {
  if (counts.create + counts.update > 0) return EXIT.changesPending;
  return counts.rejected + counts.waiting > 0 ? EXIT.partial : EXIT.done;
}
