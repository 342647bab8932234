import { Command } from "commander";
import { using } from "../compose/opened.ts";
import { NO_EVIDENCE } from "../core/apply/update-evidence.ts";
import { EXIT, type ExitCode, exitCodeOfError } from "../core/report/exit-code.ts";
import { predictedFailures } from "../engine/check/sync-conditions.ts";
import { type ForecastSetup, forecastSync, type SyncForecast } from "../engine/check/sync-forecast.ts";
import { changeCount } from "../engine/plan/plan.ts";
import type { CommandContext, CommandIo } from "./context.ts";
import { onlyTenants } from "./context.ts";
import { failureText } from "./output/attention.ts";
import { writePlanJson } from "./output/plan-json.ts";
import { writePlanText } from "./output/plan-text.ts";

/** Of a ledger that can't be read. */
const UNKNOWN_SERVICE = { baseUrl: null, teamId: null, evidence: NO_EVIDENCE, answeredAt: null };

export interface PlanFlags {
  readonly only?: readonly string[];
  readonly json?: boolean;
  readonly detailedExitcode?: boolean;
}

/** `groupsync plan`: reads the source and the ledger, or some tenants of them, sends nothing to the service, changes nothing. */
export const planCommand = ({ io, readConfig }: CommandContext): Command =>
  new Command("plan")
    .description("show what sync would do; sends nothing to the service")
    .addOption(onlyTenants())
    .option("--json", "print the plan as one JSON object")
    .option("--detailed-exitcode", "exit with 2 if changes are pending")
    .action(async (flags: PlanFlags, command: Command) => {
      const { composePlan } = await import("../compose/plan.ts");
      await using(await composePlan(await readConfig(command), io), (setup) => plan(setup, flags, io));
    });

/** Prints the plan. If a sync would fail for a reason that is known already, prints the reason and exits with that sync's code. */
export async function plan(
  setup: ForecastSetup,
  { only, json, detailedExitcode }: PlanFlags,
  io: CommandIo,
): Promise<void> {
  const { ledger } = setup.ports;
  const forecast = await forecastSync(setup, only && new Set(only), io.stop).catch(async (error: unknown) => {
    const { service } = await ledger.scope().catch(() => ({ service: UNKNOWN_SERVICE }));
    const conditions = { ...setup, ledger, service, name: setup.settings.name };
    // What fails while the other reasons are looked for must not hide this error.
    const others = await predictedFailures(conditions).catch(() => []);
    for (const failure of others) io.stderr(`${failureText(failure)}\n`);
    throw error;
  });
  try {
    if (json) await writePlanJson(forecast, ledger, io.stdout);
    else await writePlanText(forecast, ledger, io.stdout, io.isTerminal);
    const [failure] = forecast.failures;
    if (failure) io.finish(exitCodeOfError(failure));
    else if (detailedExitcode) io.finish(detailedExitCode(forecast));
  } finally {
    forecast.plan.entries.close();
  }
}

/** As the sync would end that has nothing to do: by what is owed, see `owes`. */
function detailedExitCode({ plan, rotations, refresh, tokensMayBeMissingIn }: SyncForecast): ExitCode {
  const doubted = refresh?.unsafe || refresh?.hold ? 0 : (refresh?.doubted ?? 0);
  const asked = plan.leftUnderWay.length + doubted;
  if (changeCount(plan) + rotations.count + tokensMayBeMissingIn.length + asked > 0)
    return EXIT.changesPending;
  if (plan.guard.kind !== "allowed" || refresh?.hold) return EXIT.held;
  const isPartial = plan.reading.hostLeadMs !== null || plan.counts.rejected + plan.owing > 0;
  return isPartial ? EXIT.partial : EXIT.done;
}
