import { writeFile } from "node:fs/promises";
import { setTimeout as sleep } from "node:timers/promises";
import { expect, inject, test } from "vitest";
import { stringify } from "yaml";
import { writtenForms } from "../../support/databases/written-forms.ts";
import {
  acceptTokens,
  endProgramSessions,
  OWN_TOKENS,
  refusalsOf,
  refuseTokens,
} from "../database/database-acts.ts";
import { dump } from "../dump.ts";
import { LEDGER_TABLES } from "../ledger-tables.ts";
import type { Ended } from "../program.ts";
import { talkativeProxy } from "../service/talkative-proxy.ts";
import { runCommand } from "../warm-program.ts";
import { aWorld, fromEnvironment, idOf, until, type World } from "../world.ts";

/** The tables in which tokens belong. */
const TOKEN_TABLES = /^(?:definition of )?groupsync_tokens$/;

const CONFIG = {
  service: { base_url: fromEnvironment("PROXY_URL"), timeout: "1s", concurrency: 4 },
  deletion: { grace_period: "0s", limit: { count: 1, percent: 0 } },
  rotation: { concurrency: 2 },
};

test("no output, and not the ledger, ever holds a token, key or password", async () => {
  const world = await aWorld({ tenants: 60 });
  const { env, database, sandbox } = world;
  const proxy = await talkativeProxy(() => sandbox.baseUrl);
  Object.assign(env, { PROXY_URL: proxy.url, GROUPSYNC_LOG_LEVEL: "trace" });
  await world.configure(CONFIG);
  const { GROUPSYNC_API_KEY: key = "", DATABASE_URL: url = "" } = env;
  const secrets = new Set([key, new URL(url).password]);

  let output = "";
  const keep = ({ stdout, stderr, code }: Ended): number | null => {
    output += stdout + stderr;
    return code;
  };
  /** Runs the commands one after the other. Resolves to their exit codes. */
  const all = async (...commands: readonly string[][]): Promise<(number | null)[]> => {
    const codes: (number | null)[] = [];
    for (const command of commands) codes.push(keep(await world.run(...command)));
    return codes;
  };
  const look = async (): Promise<void> => {
    await all(["status"], ["status", "--json"], ["plan"], ["plan", "--json"]);
  };
  const kill = async (requests: number, ...command: string[]): Promise<void> => {
    await world.forgetRequests();
    const program = world.start(...command);
    await until(async () => program.child.exitCode !== null || (await world.requests()).total >= requests);
    keep(await program.stop("SIGKILL"));
  };

  // A first sync, killed in the middle with a third of the answers spoiled, and a sync to the end.
  proxy.spoil(0.3);
  await kill(20, "sync");
  await all(["sync"], ["sync", "--json"]);
  await look();
  for (const how of ["401", "HTML 403"] as const) {
    await world.addTenants(61, 61);
    proxy.spoil(1, how);
    expect(await all(["sync"], ["sync", "--json"])).toEqual([1, 1]);
    await world.removeTenants(61, 61);
  }
  proxy.spoil(0);
  await all(["sync"]);

  // Renames and replacements, deletions that are held and approved.
  await database.query("UPDATE customers SET company_name = company_name || '!' WHERE id < 't-00010'");
  await world.removeTenants(50, 60);
  proxy.spoil(0.3);
  await all(["sync"], ["sync", "--json"]);
  await world.configure({ ...CONFIG, service: { ...CONFIG.service, update: "replace" } });
  await all(["sync"]);
  await look();
  const { held } = await world.status();
  await all(
    ["sync", "--approve-deletions", "000000000000"],
    ["sync", "--approve-deletions", held.code],
    ["sync"],
  );
  await look();

  // Rotations: spoiled, killed, of tokens that somebody else has rotated, and with a store that refuses them.
  await all(["rotate", "--only", idOf(20)], ["rotate", "--only", "nobody"]);
  await kill(15, "rotate", "--all", "--yes");
  await all(["sync"], ["rotate", "--older-than", "1s", "--yes", "--json"]);
  await look();
  proxy.spoil(0);
  await rotateBehind(world, idOf(21));
  await all(["rotate", "--only", idOf(21)], ["sync", "--json"]);
  for (const refusal of refusalsOf(inject("databaseKind"))) {
    // Leave `restores` out: a trigger that puts the old token back lets the old token pass.
    if (refusal !== "restores") {
      await refuseTokens(database, OWN_TOKENS, refusal);
      await all(["rotate", "--only", idOf(22)], ["status"]);
      await acceptTokens(database, OWN_TOKENS);
    }
    await refuseTokens(database, OWN_TOKENS, refusal, idOf(23));
    const rotation = world.start("rotate", "--only", idOf(23));
    await until(() => rotation.child.exitCode !== null || rotation.output().includes("is not stored"));
    await acceptTokens(database, OWN_TOKENS);
    keep(await rotation.ended);
  }
  const cut = world.start("rotate", "--all", "--yes");
  for (let times = 0; times < 5; times++) {
    await sleep(100);
    await endProgramSessions(database);
  }
  keep(await cut.ended);
  await all(["sync"], ["status"]);

  // A ledger that was lost, wrong keys and passwords.
  for (const table of LEDGER_TABLES) await database.query(`DROP TABLE groupsync_${table}`);
  await all(["plan"], ["sync"], ["sync", "--json"]);
  env.GROUPSYNC_API_KEY = "a-key-of-another-place";
  secrets.add(env.GROUPSYNC_API_KEY);
  await world.addTenants(70, 71);
  expect(await all(["sync"], ["sync", "--json"])).toEqual([1, 1]);
  env.DATABASE_URL = Object.assign(new URL(url), { password: "a-password-that-is-wrong" }).href;
  secrets.add("a-password-that-is-wrong");
  expect(await all(["sync"], ["plan"], ["status", "--json"])).toEqual([1, 1, 1]);
  Object.assign(env, { GROUPSYNC_API_KEY: key, DATABASE_URL: url });
  output += await wrongConfigs(world, secrets);
  await all(["sync", "--json"]);
  await look();

  const forbidden = [...new Set([...secrets, ...proxy.secrets, ...(await world.tokensEver())])].filter(
    (secret) => secret !== "",
  );
  expect(forbidden.length).toBeGreaterThan(100);
  expect(await world.stored()).toEqual(await world.live());
  const tables = Object.entries(await dump(database)).filter(([name]) => !TOKEN_TABLES.test(name));
  expect(tables.map(([name]) => name)).toEqual(
    expect.arrayContaining(LEDGER_TABLES.map((table) => expect.stringContaining(`groupsync_${table}`))),
  );
  const everything = `${output}\n${JSON.stringify(tables)}`;
  // Expect that there were opportunities for a leak.
  expect(output).toContain("[…]");
  expect(output).toMatch(/TOKEN_NOT_STORED/);
  expect(forbidden.flatMap(writtenForms).filter((form) => everything.includes(form))).toEqual([]);
}, 480_000);

/** Somebody else rotates the token. */
async function rotateBehind(world: World, id: string): Promise<void> {
  const { status } = await world.call("POST", { current_token: (await world.live())[id] });
  expect(status).toBe(200);
}

/** What the program says if secrets are in wrong places of the config, or if the config can't be read. */
async function wrongConfigs({ folder, env }: World, secrets: Set<string>): Promise<string> {
  const [key, password] = ["k3y-in-the-wrong-place", "p4ssword-in-the-wrong-place"];
  secrets.add(key);
  secrets.add(password);
  const [k, url] = [fromEnvironment("KEY"), `postgres://me:${fromEnvironment("PASSWORD")}@db:port/x`];
  const everywhere = {
    name: `${k} x`,
    service: { base_url: k, api_key: `a ${k}`, timeout: k, concurrency: k, rate_limit: k, update: k },
    source: { url, table: "t", where: 1 },
    group: { id: "id", name: k, mapping: { "40": `{{ ${k} ` } },
    tokens: { store: k, rows: k, notify: k },
    ledger: { url: `mysql://me:${fromEnvironment("PASSWORD")}/@db/x`, table_prefix: k },
    deletion: { when: k, grace_period: k, limit: { count: k, percent: k } },
    rotation: { max_age: k, window: k },
    schedule: k,
    timezone: k,
  };
  const texts = [
    stringify(everywhere),
    stringify({ ...everywhere, service: { base_url: `https://me:${k}@host` } }),
    `service:\n  api_key: ${key}\n   base_url: x: y\n`,
    `service:\n  api_key: "${key}\nsource: { url: "postgres://me:${password}@db/x\n`,
    `service: { api_key: [${key}] }\nsource: { url: { a: "postgres://me:${password}@db/x" } }\n`,
    `service: &a { api_key: ${key}, <<: *b }\n`,
  ];
  const ends: Ended[] = [];
  const file = `${folder}/wrong.yaml`;
  for (const text of texts) {
    await writeFile(file, text);
    ends.push(await runCommand(["sync", "--config", file], { ...env, KEY: key, PASSWORD: password }).ended);
  }
  expect(ends.map(({ code }) => code)).toEqual(texts.map(() => 78));
  return ends.map(({ stdout, stderr }) => stdout + stderr).join("");
}
