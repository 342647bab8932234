import { Command } from "commander";
import type { CommandIo } from "./command-io.ts";

/** `groupsync schema`: prints the JSON Schema of the config, for editors. Needs no config file. */
export function schemaCommand(io: CommandIo, load: () => Promise<object>): Command {
  return new Command("schema")
    .description("print the JSON Schema of the config, for editors")
    .action(async () => io.stdout(`${JSON.stringify(await load(), null, 2)}\n`));
}
