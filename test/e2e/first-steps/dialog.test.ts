import { spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { readFile } from "node:fs/promises";
import { setTimeout as sleep } from "node:timers/promises";
import { stripVTControlCharacters } from "node:util";
import { expect, onTestFinished, test } from "vitest";
import { parse } from "yaml";
import { MAIN } from "../program.ts";
import { aWorld, until } from "../world.ts";
import { aNewcomer } from "./newcomer.ts";

/** Of util-linux: gives a program a terminal. */
const hasScript = spawnSync("script", ["--version"]).status === 0;
const ENTER = "\r";
const SPACE = " ";
const CLEAR = "\u0015";
const CTRL_C = "\u0003";

/** `groupsync init` in a terminal of its own, and the keys that a person types. */
function inTerminal(env: Readonly<Record<string, string>>) {
  const command = `stty rows 40 cols 120; exec '${process.execPath}' '${MAIN}' init`;
  const child = spawn("script", ["--quiet", "--return", "--command", command, "/dev/null"], {
    env: { PATH: process.env.PATH ?? "", TERM: "xterm", ...env },
    stdio: ["pipe", "pipe", "inherit"],
  });
  onTestFinished(() => {
    child.kill("SIGKILL");
  });
  let shown = "";
  let answered = 0;
  child.stdout.setEncoding("utf8").on("data", (text: string) => {
    shown += text;
  });
  const printed = (): string => stripVTControlCharacters(shown);
  return {
    printed,
    ended: once(child, "close").then(([code]) => code),
    /** Waits for the question, and types. */
    async answer(question: string, ...keys: readonly string[]): Promise<void> {
      await until(() => printed().slice(answered).includes(question));
      answered = printed().length;
      for (const key of keys) {
        child.stdin.write(key);
        await sleep(50);
      }
    },
  };
}

test.runIf(hasScript)("in a terminal, init asks and writes what was answered", async () => {
  const world = await aWorld({ tenants: 2 });
  const { database, sandbox, env } = world;
  await database.query("CREATE TABLE accounts (id int PRIMARY KEY, name text NOT NULL)");
  await database.query("ALTER TABLE customers ADD region text");
  const newcomer = await aNewcomer(world);
  const { DATABASE_URL: url = "", ...others } = env;
  const { printed, answer, ended } = inTerminal(others);
  await answer("The url of the database", "db.example.com", ENTER);
  await answer("it is no url of a database", CLEAR, url, ENTER);
  await answer("The table with one row for each tenant", "custom", ENTER);
  await answer("The column with the tenant's data source", ENTER);
  await answer("The id of the service's schema", "40", ENTER);
  await answer("The columns that the dashboards get", SPACE, ENTER);
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
  // The first one was taken out by the space.
  expect(group.properties).toEqual({ region: "region" });
});

test.runIf(hasScript)("who cancels, or says no, finds no file", async () => {
  const world = await aWorld({ tenants: 1 });
  const newcomer = await aNewcomer(world);
  const cancelled = inTerminal(world.env);
  await cancelled.answer("The column with the tenant's data source", ENTER);
  await cancelled.answer("The id of the service's schema", CTRL_C);
  expect(await cancelled.ended).toBe(1);
  expect(cancelled.printed()).toContain("nothing was written");

  const refused = inTerminal(world.env);
  await refused.answer("The column with the tenant's data source", ENTER);
  await refused.answer("The id of the service's schema", ENTER);
  await refused.answer("The columns that the dashboards get", ENTER);
  await refused.answer("The address of the service", ENTER);
  await refused.answer("Write ", "n");
  expect(await refused.ended).toBe(1);
  for (const file of [newcomer.configFile, newcomer.sqlFile])
    await expect(readFile(file)).rejects.toThrow("ENOENT");
});
