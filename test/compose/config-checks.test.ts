import { expect, test } from "vitest";
import { verifyColumns, verifyTls } from "../../src/compose/config-checks.ts";
import { aHost } from "../commands/a-host.ts";
import { load, withKeys } from "../config/config-file.ts";
import { rejection } from "../contracts/collect.ts";
import { freshDatabase } from "../support/databases/fresh-database.ts";
import { tcpProxy } from "../support/servers/tcp-proxy.ts";

const KINDS = ["postgres", "mysql"] as const;

test.each(["source", "source.changes", "ledger", "tokens"])(
  "a certificate file in the url of %s is checked before any database is contacted",
  async (section) => {
    const url = "postgres://app:pw@db.example.com/crm?sslmode=verify-full&sslrootcert=/gone/ca.pem";
    const keys =
      section === "source.changes"
        ? { source: { changes: { channel: "new", url } } }
        : { [section]: { url } };
    const config = load(withKeys(keys));
    expect(await rejection((async () => verifyTls(config))())).toMatchObject({
      code: "CONFIG_TLS",
      message: expect.stringContaining("/gone/ca.pem (sslrootcert in the url) cannot be read"),
    });
  },
);

async function aTable(kind: (typeof KINDS)[number]) {
  const database = await freshDatabase(kind);
  await database.query("CREATE TABLE customers (id varchar(100), company varchar(100), changed timestamp)");
  const configOf = (keys: { readonly source?: object; readonly group?: object; readonly url?: string }) =>
    load(
      withKeys({
        source: { url: keys.url ?? database.url, ...keys.source },
        group: { name: "company", ...keys.group },
      }),
    );
  return { database, configOf };
}

test.each(KINDS)("%s says which columns of a config are not there", async (kind) => {
  const { configOf } = await aTable(kind);
  const refusal = (keys: Parameters<typeof configOf>[0]) => rejection(verifyColumns(configOf(keys), aHost()));
  const changes = { column: "changd" };
  expect(
    await refusal({ source: { changes }, group: { name: "compny", mapping: { 40: "warehouse" } } }),
  ).toMatchObject({
    code: "CONFIG_COLUMNS",
    message: expect.stringMatching(/has no column compny, warehouse, changd$/),
    hint: expect.stringMatching(/: id, company, changed$/),
  });
  expect(await refusal({ source: { changes: { column: "company" } } })).toMatchObject({
    code: "CONFIG_COLUMNS",
    message: expect.stringContaining("source.changes.column: the type of column company"),
  });
  for (const key of ["where", "ready_when"]) {
    expect(await refusal({ source: { [key]: "actve = 1" } })).toMatchObject({
      code: "CONFIG_SOURCE",
      message: expect.stringContaining("actve"),
    });
  }
  await verifyColumns(configOf({ source: { changes: { column: "changed" } } }), aHost());
});

test.each(KINDS)("%s that is away says nothing against a config", async (kind) => {
  const { database, configOf } = await aTable(kind);
  const proxy = await tcpProxy(database.url);
  proxy.limit(0);
  expect(await rejection(verifyColumns(configOf({ url: proxy.url }), aHost()))).toMatchObject({
    code: "SOURCE_UNAVAILABLE",
  });
});
