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

/** Whether this machine has the program `script` of util-linux, which gives a program a terminal. */
const hasTerminals = spawnSync("script", ["--version"]).status === 0;
const ENTER = "\r";
const CLEAR = "\u0015";

/** The built program in a terminal of its own, and the keys that a person types. */
function inTerminal(args: readonly string[], env: Readonly<Record<string, string>>) {
  const command = `stty rows 40 cols 120; exec '${process.execPath}' '${MAIN}' ${args.join(" ")}`;
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
