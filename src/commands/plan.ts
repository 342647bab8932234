import { Command } from "commander";
import { EXIT, type ExitCode, exitCodeOfError } from "../core/report/exit-code.ts";
import type { RotationPolicy } from "../core/rotation/rotation-policy.ts";
import { shownTable } from "../core/tokens/destination.ts";
import {
  type HostTime,
  makePlan,
  type PlanPorts,
  type PlanSettings,
  readLedgerState,
} from "../engine/plan/make-plan.ts";
import { changeCount, type Plan } from "../engine/plan/plan.ts";
import { predictedFailures, predictedWarnings } from "../engine/predict-sync.ts";
import { type RefreshPolicy, startOfRefresh } from "../engine/refresh/refresh-start.ts";
import { areSameDestinations, tokenTables } from "../engine/tokens/moved-destinations.ts";
import type { LedgerView } from "../ports/ledger/ledger.ts";
import type { KnownService } from "../ports/ledger/scope.ts";
import type { TokenStore } from "../ports/token-store.ts";
import { type CommandIo, type Opened, using } from "./command-io.ts";
import { onlyTenants } from "./only-option.ts";
import { dueRotations, NO_ROTATIONS } from "./output/due-rotations.ts";
import { writePlanJson } from "./output/plan-json.ts";
import { failureText, writePlanText } from "./output/plan-text.ts";
import type { SyncForecast } from "./output/sync-forecast.ts";

export interface PlanSetup {
  readonly ports: PlanPorts;
  readonly settings: PlanSettings;
  readonly rotation: RotationPolicy;
  readonly refresh: RefreshPolicy;
  readonly tokens: Pick<TokenStore, "inspect" | "destinations" | "holdsAny">;
  /** The token destinations, for people to read. */
  readonly tokenDestinations: readonly string[];
  readonly baseUrl: string;
  readonly clock: HostTime;
}

interface Flags {
  readonly only?: readonly string[];
  readonly json?: boolean;
  readonly detailedExitcode?: boolean;
}

const UNKNOWN_SERVICE: KnownService = {
  baseUrl: null,
  teamId: null,
  updates: null,
  isProbed: false,
  answeredAt: null,
};

/**
 * `groupsync plan`: reads the source and the ledger, or some tenants of them, sends nothing to the service, changes nothing.
 * If a sync would fail for a reason that is known already, prints the reason and exits with that sync's code.
 */
export function planCommand(io: CommandIo, open: (command: Command) => Promise<Opened<PlanSetup>>): Command {
  return new Command("plan")
    .description("show what sync would do; sends nothing to the service")
    .addOption(onlyTenants())
    .option("--json", "print the plan as one JSON object")
    .option("--detailed-exitcode", "exit with 2 when there is something to do")
    .action(async (flags: Flags, command: Command) => {
      await using(
        await open(command),
        async ({ ports, settings, rotation, refresh: policy, clock, ...setup }) => {
          const { ledger } = ports;
          const only = flags.only && new Set(flags.only);
          const foreseen = (service: KnownService) =>
            predictedFailures({ ledger, service, name: settings.name, ...setup });
          let known: KnownService | undefined;
          const made = async () => {
            known = await ledger.service();
            const state = await readLedgerState({ ledger, clock }, known, only === undefined);
            return { state, plan: await makePlan(ports, settings, state, state.now, io.signal, { only }) };
          };
          const { state, plan } = await made().catch(async (error) => {
            // The source can't be read. Print the other reasons for which a sync would fail, too.
            for (const failure of await foreseen(known ?? UNKNOWN_SERVICE))
              io.stderr(`${failureText(failure)}\n`);
            throw error;
          });
          try {
            const { service, now } = state;
            const looksAtAll = plan.isWhole && (await mayLackTokens(ledger, setup.tokenDestinations));
            const failures = await foreseen(service);
            const refresh = await startOfRefresh(
              plan,
              {},
              { ...settings, refresh: policy },
              { ledger, updates: service.updates, now, isRecorded: false },
            );
            const forecast: SyncForecast = {
              tables: {
                source: plan.sourceTable,
                // If the tables can't be found, `failures` has the reason.
                tokens: (await tokenTables(setup.tokens).catch(() => [])).map(shownTable),
                ledger: await ledger.ownTables(),
              },
              rotations: plan.isWhole ? await dueRotations(ledger, rotation, now) : NO_ROTATIONS,
              refresh,
              // Without a group, no token can be missing.
              tokensMayBeMissingIn:
                looksAtAll && (await ledger.existingCount({})) > 0 ? setup.tokenDestinations : [],
              failures,
              warnings:
                failures.length > 0
                  ? []
                  : await predictedWarnings(plan, { ...setup, ledger, service }, { looksAtAll, refresh }),
            };
            if (flags.json) await writePlanJson(plan, forecast, ledger, io.stdout);
            else await writePlanText(plan, forecast, ledger, io.stdout, io.isTerminal);
            const [failure] = forecast.failures;
            if (failure) io.finish(exitCodeOfError(failure));
            else if (flags.detailedExitcode) io.finish(detailedExitCode(plan, forecast));
          } finally {
            plan.entries.close();
          }
        },
      );
    });
}

/** Whether tokens may be missing, because the config names other destinations than the ledger knows. */
const mayLackTokens = async (ledger: LedgerView, tokenDestinations: readonly string[]): Promise<boolean> =>
  !areSameDestinations((await ledger.tokenDestinations()) ?? [], tokenDestinations);

function detailedExitCode(plan: Plan, { rotations, refresh, tokensMayBeMissingIn }: SyncForecast): ExitCode {
  if (changeCount(plan) + rotations.count + tokensMayBeMissingIn.length > 0) return EXIT.changesPending;
  if (plan.guard.kind !== "allowed" || refresh?.hold) return EXIT.held;
  const isPartial =
    plan.reading.hostLeadMs !== null ||
    plan.counts.rejected + plan.counts.waiting + rotations.waiting.length > 0;
  return isPartial ? EXIT.partial : EXIT.done;
}
