import { expect, test } from "vitest";
import { Databases, VIEW_TIMEOUTS } from "../../src/compose/databases.ts";
import { SyncError } from "../../src/core/failure/sync-error.ts";
import { Secret } from "../../src/core/secret/secret.ts";

test.each(["postgres", "mysql"] as const)(
  "a %s server that is away is an error for the operator, also for the question about its settings",
  async (dialect) => {
    const databases = new Databases("default", VIEW_TIMEOUTS, new AbortController().signal);
    // Nobody listens at port 1.
    await databases.open({ dialect, url: new Secret(`${dialect}://127.0.0.1:1/app`) });
    const error: unknown = await databases.risks().catch((thrown: unknown) => thrown);
    await databases.close();
    expect(error).toBeInstanceOf(SyncError);
    expect(error).toMatchObject({ code: "LEDGER_UNAVAILABLE" });
  },
);
