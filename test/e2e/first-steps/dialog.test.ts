import { readFile } from "node:fs/promises";
import { expect, test } from "vitest";
import { parse } from "yaml";
import { CLEAR, ENTER, hasTerminals, inTerminal } from "../in-terminal.ts";
import { aWorld } from "../world.ts";
import { aNewcomer } from "./newcomer.ts";

test.runIf(hasTerminals)("in a terminal, init asks and writes what was answered", async () => {
  const world = await aWorld({ tenants: 2 });
  const { database, env } = world;
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
  expect(await ended).toBe(0);

  expect(printed()).toContain("write the id of the service's schema in place of SCHEMA_ID");
  expect(printed()).not.toContain(new URL(url).password);
  const { source, group } = parse(await readFile(newcomer.configFile, "utf8"));
  expect(source.table).toMatch(/^(public\.)?customers$/);
  expect(group).toMatchObject({ id: "id", name: "company_name", mapping: { SCHEMA_ID: "warehouse" } });
  expect(group.properties).toEqual({ plan: "plan", region: "region" });
});
