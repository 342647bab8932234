import { Command } from "commander";
import { EXIT, type ExitCode, exitCodeOfError } from "../core/exit-code.ts";
import type { RotationPolicy } from "../core/rotation.ts";
import { shownTable } from "../core/token-tables.ts";
import { foreseenFailures, foreseenWarnings } from "../engine/foresight.ts";
import { changeCount, type Plan } from "../engine/plan.ts";
import {
  type LedgerState,
  type PlanPorts,
  type PlanSettings,
  planRun,
  readLedgerState,
} from "../engine/plan-run.ts";
import { haveStayed } from "../engine/token-move.ts";
import { tokenTables } from "../engine/token-tables.ts";
import type { KnownService, LedgerView } from "../ports/ledger.ts";
import type { TokenStore } from "../ports/token-store.ts";
import { dueRotations } from "./due-rotations.ts";
import { type CommandIo, type Opened, using } from "./io.ts";
import { writePlanJson } from "./plan-json.ts";
import { failureText, writePlanText } from "./plan-text.ts";
import type { Prospects } from "./prospects.ts";

export interface PlanSetup {
  readonly ports: PlanPorts;
  readonly settings: PlanSettings;
  readonly rotation: RotationPolicy;
  readonly tokens: Pick<TokenStore, "inspect" | "destinations" | "holdsAny">;
  /** Where the tokens go, in words. */
  readonly tokenPlaces: readonly string[];
  readonly baseUrl: string;
  readonly now: () => Date;
}

interface Flags {
  readonly json?: boolean;
  readonly detailedExitcode?: boolean;
}

const UNKNOWN_SERVICE: KnownService = { baseUrl: null, teamId: null, updates: null };

/**
 * `groupsync plan`: reads the source and the ledger, sends nothing to the service, changes nothing. Where it can see that
 * a sync would fail, it says so and ends as that sync would.
 */
export function planCommand(io: CommandIo, open: (command: Command) => Promise<Opened<PlanSetup>>): Command {
  return new Command("plan")
    .description("show what sync would do; sends nothing to the service")
    .option("--json", "print the plan as one JSON object")
    .option("--detailed-exitcode", "exit with 2 when there is something to do")
    .action(async (flags: Flags, command: Command) => {
      await using(await open(command), async ({ ports, settings, rotation, now: clock, ...setup }) => {
        const { ledger } = ports;
        const now = clock();
        const foreseen = (service: KnownService) =>
          foreseenFailures({ ledger, service, name: settings.name, ...setup });
        let known: LedgerState | undefined;
        const made = async () => {
          const state = await readLedgerState(ledger);
          known = state;
          return { state, plan: await planRun(ports, settings, state, now, io.signal) };
        };
        const { state, plan } = await made().catch(async (error) => {
          // What a sync would meet before it reads is said too.
          for (const failure of await foreseen(known?.service ?? UNKNOWN_SERVICE))
            io.stderr(`${failureText(failure)}\n`);
          throw error;
        });
        try {
          const { service } = state;
          const looksAtAll = await mayLackTokens(ledger, setup);
          const failures = await foreseen(service);
          const prospects: Prospects = {
            tables: {
              source: plan.sourceTable,
              // The failures say why they can't be found.
              tokens: (await tokenTables(setup.tokens).catch(() => [])).map(shownTable),
              ledger: await ledger.ownTables(),
            },
            rotations: await dueRotations(ledger, rotation, now),
            // Where there are no groups yet, none lacks its token.
            placesToLookIn: looksAtAll && service.baseUrl !== null ? setup.tokenPlaces : [],
            failures,
            warnings:
              failures.length > 0
                ? []
                : await foreseenWarnings(plan, { ...setup, ledger, service }, { looksAtAll }),
          };
          if (flags.json) await writePlanJson(plan, prospects, ledger, io.stdout);
          else await writePlanText(plan, prospects, ledger, io.stdout, io.isTerminal);
          const [failure] = prospects.failures;
          if (failure) io.finish(exitCodeOfError(failure));
          else if (flags.detailedExitcode) io.finish(detailedExitCode(plan, prospects));
        } finally {
          plan.entries.close();
        }
      });
    });
}

/** Whether the places of the tokens may not have all of them. */
async function mayLackTokens(
  ledger: LedgerView,
  { tokens, tokenPlaces }: Pick<PlanSetup, "tokens" | "tokenPlaces">,
): Promise<boolean> {
  return !(await haveStayed((await ledger.tokenPlaces()) ?? [], tokenPlaces, tokens));
}

function detailedExitCode(plan: Plan, { rotations, placesToLookIn }: Prospects): ExitCode {
  if (changeCount(plan) + rotations.count + placesToLookIn.length > 0) return EXIT.changesPending;
  if (plan.clearance.kind !== "cleared") return EXIT.held;
  return plan.counts.rejected + plan.counts.waiting + rotations.waiting.length > 0 ? EXIT.partial : EXIT.done;
}
