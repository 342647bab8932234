import type { TestContext } from "vitest";

/** No registry or mirror gives a package that a test needs. */
export class NotToBeHad extends Error {
  constructor(what: string, cause: unknown) {
    super(`${what} can't be had: ${cause instanceof Error ? cause.message : cause}`, { cause });
  }
}

/** Skips the test, and says so, if its package can't be had. With CI=true that is an error, as anything else always is. */
export function skipIfNotToBeHad(error: unknown, { skip, task }: TestContext): never {
  if (!(error instanceof NotToBeHad) || process.env.CI === "true") throw error;
  console.error(`\n!!! ${task.name} is SKIPPED: ${error.message}\n`);
  return skip(error.message);
}
