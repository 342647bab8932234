import { readFile } from "node:fs/promises";
import { expect, test } from "vitest";
import { parse } from "yaml";
import { CLEAR, ENTER, hasTerminals, inTerminal } from "../in-terminal.ts";
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
