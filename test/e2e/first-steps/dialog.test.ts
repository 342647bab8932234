import { readFile } from "node:fs/promises";
import { expect, test } from "vitest";
import { parse } from "yaml";
import { CLEAR, CTRL_C, ENTER, hasTerminals, inTerminal } from "../in-terminal.ts";
import { aWorld } from "../world.ts";
import { aNewcomer } from "./newcomer.ts";

test.runIf(hasTerminals)("in a terminal, init asks and writes what was answered", async () => {
  const world = await aWorld({ tenants: 2 });
  const { database, sandbox, env } = world;
  await database.query("CREATE TABLE accounts (id int PRIMARY KEY, name text NOT NULL)");
  await database.query("ALTER TABLE customers ADD region text");
  const newcomer = await aNewcomer(world);
  const { DATABASE_URL: url = "", ...others } = env;
  const { printed, answer, ended } = inTerminal(["init"], others);
  await answer("The url of the database", "db.example.com", ENTER);
  await answer("it is no url of a database", CLEAR, url, ENTER);
  await answer("The table with one row for each tenant", "custom", ENTER);
  await answer("The column that becomes the group's name", ENTER);
  await answer("The column with the tenant's data source", ENTER);
  await answer("The id of the service's schema", "40", ENTER);
  await answer("The address of the service", "nonsense", ENTER);
  await answer("it is no address of a service", CLEAR, sandbox.baseUrl, ENTER);
  await answer("Write ", ENTER);
  expect(await ended).toBe(0);

  expect(printed()).toContain('+ t-00001  "Company 1"');
  expect(printed()).not.toContain(new URL(url).password);
  const { service, source, group } = parse(await readFile(newcomer.configFile, "utf8"));
  expect(service.base_url).toBe(sandbox.baseUrl);
  expect(source.table).toMatch(/^(public\.)?customers$/);
  expect(group).toMatchObject({ id: "id", name: "company_name", mapping: { "40": "warehouse" } });
  expect(group.properties).toEqual({ plan: "plan", region: "region" });
});

test.runIf(hasTerminals)("who cancels, or says no, finds no file", async () => {
  const world = await aWorld({ tenants: 1 });
  const newcomer = await aNewcomer(world);
  const cancelled = inTerminal(["init"], world.env);
  await cancelled.answer("The column that becomes the group's name", ENTER);
  await cancelled.answer("The column with the tenant's data source", ENTER);
  await cancelled.answer("The id of the service's schema", CTRL_C);
  expect(await cancelled.ended).toBe(1);
  expect(cancelled.printed()).toContain("nothing was changed");

  const refused = inTerminal(["init"], world.env);
  await refused.answer("The column that becomes the group's name", ENTER);
  await refused.answer("The column with the tenant's data source", ENTER);
  await refused.answer("The id of the service's schema", ENTER);
  await refused.answer("The address of the service", ENTER);
  await refused.answer("Write ", "n");
  expect(await refused.ended).toBe(1);
  expect(refused.printed()).toContain("mapping.<SCHEMA_ID>: ");
  for (const file of [newcomer.configFile, newcomer.sqlFile])
    await expect(readFile(file)).rejects.toThrow("ENOENT");
});
