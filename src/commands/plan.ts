import { Command } from "commander";
import { EXIT, type ExitCode } from "../core/exit-code.ts";
import type { RotationPolicy } from "../core/rotation.ts";
import { areSamePlaces } from "../core/token-places.ts";
import { changeCount, type Plan } from "../engine/plan.ts";
import { type PlanPorts, type PlanSettings, planRun, readLedgerState } from "../engine/plan-run.ts";
import { type DueRotations, dueRotations } from "./due-rotations.ts";
import { type CommandIo, type Opened, using } from "./io.ts";
import { writePlanJson } from "./plan-json.ts";
import { writePlanText } from "./plan-text.ts";

export interface PlanSetup {
  readonly ports: PlanPorts;
  readonly settings: PlanSettings;
  readonly rotation: RotationPolicy;
  /** Where the tokens go, in words. */
  readonly tokenPlaces: readonly string[];
  readonly now: () => Date;
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
      await using(await open(command), async ({ ports, settings, rotation, tokenPlaces, now: clock }) => {
        const { ledger } = ports;
        const now = clock();
        const state = await readLedgerState(ledger);
        const plan = await planRun(ports, settings, state, now);
        try {
          const rotations = await dueRotations(ledger, rotation, now);
          if (flags.json) await writePlanJson(plan, rotations, ledger, io.stdout);
          else await writePlanText(plan, rotations, ledger, io.stdout, io.isTerminal);
          const haveAll = (await ledger.tokenPlaces()) ?? [];
          const mayLackTokens = state.service.baseUrl !== null && !areSamePlaces(haveAll, tokenPlaces);
          if (mayLackTokens && !flags.json) io.stdout(lackText(tokenPlaces));
          if (flags.detailedExitcode)
            io.finish(mayLackTokens ? EXIT.changesPending : detailedExitCode(plan, rotations));
        } finally {
          plan.entries.close();
        }
      });
    });
}

const lackText = (places: readonly string[]): string =>
  `Tokens may be missing: a sync looks for each in ${places.join(" and in ")}, and writes those that are not there.\n`;

function detailedExitCode(plan: Plan, rotations: DueRotations): ExitCode {
  if (changeCount(plan) + rotations.count > 0) return EXIT.changesPending;
  if (plan.clearance.kind !== "cleared") return EXIT.held;
  return plan.counts.rejected + plan.counts.waiting + rotations.waiting.length > 0 ? EXIT.partial : EXIT.done;
}
