import { expect, test } from "vitest";
import { insistOnColumns } from "../../src/compose/tenant-source.ts";
import { aHost } from "../commands/a-host.ts";
import { load, withKeys } from "../config/config-file.ts";
import { rejection } from "../contracts/collect.ts";
import { freshDatabase } from "../support/databases/fresh-database.ts";
import { tcpProxy } from "../support/servers/tcp-proxy.ts";

const KINDS = ["postgres", "mysql"] as const;

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
  const refusal = (keys: Parameters<typeof configOf>[0]) =>
    rejection(insistOnColumns(configOf(keys), aHost()));
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
  await insistOnColumns(configOf({ source: { changes: { column: "changed" } } }), aHost());
});

test.each(KINDS)("%s that is away says nothing against a config", async (kind) => {
  const { database, configOf } = await aTable(kind);
  const proxy = await tcpProxy(database.url);
  proxy.limit(0);
  expect(await rejection(insistOnColumns(configOf({ url: proxy.url }), aHost()))).toMatchObject({
    code: "SOURCE_UNAVAILABLE",
  });
});
