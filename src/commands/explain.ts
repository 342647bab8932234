import { Command } from "commander";
import { explainTenant } from "../engine/explain/explain-tenant.ts";
import { readLedgerState } from "../engine/plan/make-plan.ts";
import { predictedFailures } from "../engine/predict-sync.ts";
import type { TokenStore } from "../ports/token-store.ts";
import { type CommandIo, type Opened, using } from "./command-io.ts";
import { explainJson } from "./output/explain-json.ts";
import { explainText } from "./output/explain-text.ts";
import type { PlanSetup } from "./plan.ts";

export interface ExplainSetup extends PlanSetup {
  readonly tokens: PlanSetup["tokens"] & Pick<TokenStore, "read" | "lagging">;
}

interface Flags {
  readonly json?: boolean;
}

/** `groupsync explain`: all that is known of one tenant. Sends nothing to the service, and changes nothing. */
export function explainCommand(
  io: CommandIo,
  open: (command: Command) => Promise<Opened<ExplainSetup>>,
): Command {
  return new Command("explain")
    .description("show one tenant: its row, its group, its token, and why it is as it is")
    .argument("<ID>", "the tenant's id, as the source has it")
    .option("--json", "print it as one JSON object")
    .action(async (id: string, flags: Flags, command: Command) => {
      await using(await open(command), async ({ ports, settings, rotation, now: clock, ...setup }) => {
        const { source, ledger } = ports;
        const { tokens, tokenDestinations } = setup;
        const now = clock();
        const state = await readLedgerState(ledger);
        const explained = await explainTenant(
          id,
          { source, ledger, tokens },
          settings,
          state,
          now,
          io.signal,
        );
        const { service } = state;
        const failures = await predictedFailures({ ledger, service, name: settings.name, ...setup });
        const page = { explained, tokenDestinations, rotation, failures, now };
        io.stdout(flags.json ? explainJson(page) : explainText(page, io.isTerminal));
      });
    });
}
