import { Command } from "commander";
import { using } from "../compose/opened.ts";
import { explainTenant } from "../engine/explain/explain-tenant.ts";
import type { CommandContext } from "./context.ts";
import { explainJson, explainText } from "./output/explain.ts";

interface Flags {
  readonly json?: boolean;
}

/** `groupsync explain`: all that is known of one tenant. Sends nothing to the service, and changes nothing. */
export const explainCommand = ({ io, flagsOf, readConfig }: CommandContext): Command =>
  new Command("explain")
    .description("show one tenant: its row, its group, its token, and why it is as it is")
    .argument("<ID>", "the tenant's id, as the source has it")
    .option("--json", "print it as one JSON object")
    .action(async (id: string, flags: Flags, command: Command) => {
      const { composePlan } = await import("../compose/plan.ts");
      await using(await composePlan(await readConfig(command), io), async (setup) => {
        const explanation = await explainTenant(id, setup, io.stop);
        const { config } = flagsOf(command);
        io.stdout(flags.json ? explainJson(explanation) : explainText(explanation, config, io.isTerminal));
      });
    });
