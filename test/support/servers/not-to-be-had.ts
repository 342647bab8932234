import type { TestContext } from "vitest";

/** No registry or mirror gives a package that a test needs. */
export class NotToBeHad extends Error {
  constructor(what: string, cause: unknown) {
    super(`${what} can't be had: ${cause instanceof Error ? cause.message : cause}`, { cause });
  }
}

/**
 * What `get` gives; null, with a message, if it fails: the tests that need it are skipped then. With CI=true that is an
 * error. `debian` names the packages that have it.
 */
export async function unlessMissing<T>(
  what: string,
  debian: string,
  get: () => Promise<T>,
): Promise<T | null> {
  try {
    return await get();
  } catch (error) {
    if (process.env.CI === "true") throw error;
    console.error(
      [
        `\n!!! There is no ${what}: every test that needs one is SKIPPED.`,
        `!!! To get one: install it (Debian: ${debian}), or let apt-get download it.`,
        `!!! ${error instanceof Error ? error.message : error}\n`,
      ].join("\n"),
    );
    return null;
  }
}

/** Skips the test, and says so, if its package can't be had. With CI=true that is an error, as anything else always is. */
export function skipIfNotToBeHad(error: unknown, { skip, task }: TestContext): never {
  if (!(error instanceof NotToBeHad) || process.env.CI === "true") throw error;
  console.error(`\n!!! ${task.name} is SKIPPED: ${error.message}\n`);
  return skip(error.message);
}
