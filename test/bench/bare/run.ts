import { fileURLToPath } from "node:url";
import { outputOf, startProgram } from "../program.ts";

/**
 * Runs one of the bare programs, which groupsync is compared with, to its end. Gives what it printed. Each runs in a
 * process of its own, and so starts as cold as groupsync does. Takes the machine's own Python.
 */
export async function runBare(
  file: "loop.mjs" | "loop.py" | "read.mjs" | "rotation.mjs" | "storing-loop.mjs",
  args: readonly string[],
  env?: Readonly<Record<string, string>>,
): Promise<string> {
  const program = file.endsWith(".py") ? "python3" : process.execPath;
  return await outputOf(startProgram(program, [fileURLToPath(new URL(file, import.meta.url)), ...args], env));
}
