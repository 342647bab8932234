import { Command } from "commander";
import type { CommandContext } from "./context.ts";

/** `groupsync schema`: prints the JSON Schema of the config, for editors. Needs no config file. */
export const schemaCommand = ({ io }: CommandContext): Command =>
  new Command("schema").description("print the JSON Schema of the config, for editors").action(async () => {
    const { configJsonSchema } = await import("../config/json-schema.ts");
    io.stdout(`${JSON.stringify(configJsonSchema(), null, 2)}\n`);
  });
