import { fileURLToPath } from "node:url";
import { outputOf, startNode } from "../program.ts";

/**
 * Runs one of the bare programs, which groupsync is compared with, to its end. Gives what it printed. Each runs in a
 * process of its own, and so starts as cold as groupsync does.
 */
export async function runBare(
  name: "loop" | "read" | "rotation",
  args: readonly string[],
  env?: Readonly<Record<string, string>>,
): Promise<string> {
  const file = fileURLToPath(new URL(`${name}.mjs`, import.meta.url));
  return await outputOf(startNode([file, ...args], env));
}
