import { fileURLToPath } from "node:url";
import { outputOf, startNode, startProgram } from "../program.ts";

/**
 * Runs one of the bare programs, which groupsync is compared with, to its end. Gives what it printed. Each runs in a
 * process of its own, and so starts as cold as groupsync does.
 */
export async function runBare(
  name: "loop" | "read" | "rotation",
  args: readonly string[],
  env?: Readonly<Record<string, string>>,
): Promise<string> {
  return await outputOf(startNode([fileOf(`${name}.mjs`), ...args], env));
}

/** The same for the loop in Python, by the machine's own Python. */
export async function runPythonLoop(args: readonly string[]): Promise<string> {
  return await outputOf(startProgram("python3", [fileOf("loop.py"), ...args]));
}

const fileOf = (name: string): string => fileURLToPath(new URL(name, import.meta.url));
