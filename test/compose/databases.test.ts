import { expect, test } from "vitest";
import { Databases, insistOnTls, VIEW_CONNECTIONS, VIEW_TIMEOUTS } from "../../src/compose/databases.ts";
import { SyncError } from "../../src/core/failure/sync-error.ts";
import { Secret } from "../../src/core/secret/secret.ts";
import { load, withKeys } from "../config/config-file.ts";
import { rejection } from "../contracts/collect.ts";

test.each(["postgres", "mysql"] as const)(
  "a %s server that is away is an error for the operator, also for the question about its settings",
  async (dialect) => {
    const databases = new Databases("default", VIEW_TIMEOUTS, new AbortController().signal);
    // Nobody listens at port 1.
    await databases.open({ dialect, url: new Secret(`${dialect}://127.0.0.1:1/app`) }, VIEW_CONNECTIONS);
    const error: unknown = await databases.risks().catch((thrown: unknown) => thrown);
    await databases.close();
    expect(error).toBeInstanceOf(SyncError);
    expect(error).toMatchObject({ code: "LEDGER_UNAVAILABLE" });
  },
);

test.each(["source", "source.changes", "ledger", "tokens"])(
  "a certificate file in the url of %s is checked before any database is contacted",
  async (section) => {
    const url = "postgres://app:pw@db.example.com/crm?sslmode=verify-full&sslrootcert=/gone/ca.pem";
    const keys =
      section === "source.changes"
        ? { source: { changes: { channel: "new", url } } }
        : { [section]: { url } };
    const config = load(withKeys(keys));
    expect(await rejection((async () => insistOnTls(config))())).toMatchObject({
      code: "CONFIG_TLS",
      message: expect.stringContaining("/gone/ca.pem (sslrootcert in the url) cannot be read"),
    });
  },
);
