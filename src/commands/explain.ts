import { Command } from "commander";
import { type ExplainSetup, readExplanation } from "../engine/read-explanation.ts";
import { type CommandIo, type Opened, using } from "./command-io.ts";
import { explainJson } from "./output/explain-json.ts";
import { explainText } from "./output/explain-text.ts";

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
      await using(await open(command), async (setup) => {
        const explanation = await readExplanation(id, setup, io.signal);
        io.stdout(flags.json ? explainJson(explanation) : explainText(explanation, io.isTerminal));
      });
    });
}
