import { randomBytes } from "node:crypto";
import { readFile, writeFile } from "node:fs/promises";
import { expect, onTestFinished } from "vitest";
import { parseDocument } from "yaml";
import { aNewcomer } from "../e2e/first-steps/newcomer.ts";
import type { Ended } from "../e2e/program.ts";
import { aWorld, fromEnvironment, idOf, type World } from "../e2e/world.ts";
import { insistOnSchema } from "../support/config-schema.ts";
import type { Query } from "../support/databases/database-server.ts";
import { type FreshDatabase, SERVERS } from "../support/databases/fresh-database.ts";
import { documentedSql } from "../support/documented-sql.ts";
import type { Running } from "./installation.ts";
import { judge } from "./judge.ts";

/** Somebody who has an installation, and does with the built program what its docs say. */
export interface Customer {
  readonly world: World;
  /** Asks the database with the tokens, as its administrator. */
  readonly tokens: Query;
  readonly tokenTable: string;
  addTenants(from: number, to: number): Promise<void>;
  /** Has `init` write config and statements, makes the roles by them, and gives the program their urls alone. */
  setUp(): Promise<void>;
  /** Changes keys of the config, given by their paths. Undefined removes one. */
  configure(changes: Readonly<Record<string, unknown>>): Promise<void>;
  /** The config as it is now, to write it again later. */
  config(): Promise<{ restore(): Promise<void> }>;
  /** The next command is the next instance's. */
  takeTurn(): Promise<void>;
  /** Runs a command in every instance at the same time. */
  runAll(...args: string[]): Promise<readonly Ended[]>;
  /** Runs a command to its end. */
  run(...args: string[]): Promise<Ended>;
  /** Runs a command with --json. */
  report(...args: string[]): Promise<Reported>;
  storedIds(): Promise<readonly string[]>;
  expectEqual(): Promise<void>;
  version(): Promise<string>;
}

export interface Reported extends Ended {
  // biome-ignore lint/suspicious/noExplicitAny: tests look into reports of every shape
  readonly report: any;
}

export async function aCustomer(running: Running, hasChannel: boolean): Promise<Customer> {
  const { kind, settled = async () => {}, roleSettings = {} } = running;
  const database = await aDatabase(running, running.encoding ?? DEFAULT_ENCODING[kind]);
  const own = running.encoding ? await aDatabase(running, DEFAULT_ENCODING[kind]) : database;
  const world = await aWorld({ database, tenants: 0, service: { existing: "update" } });
  const follow = async (what: RegExp): Promise<void> => {
    const statements = documentedSql("docs/new-tenants.md", kind).filter((sql) => what.test(sql));
    expect(statements.length).toBeGreaterThan(0);
    for (const statement of statements) await database.query(statement);
  };
  await follow(/ADD COLUMN/);
  const newcomer = await aNewcomer(world);
  const { env, sandbox } = world;

  let urls = { source: database.url, own: own.url };
  let turn = 0;
  const be = (instance: number): void => {
    const { source, own, changes = source, ...more } = running.instances[instance] ?? running.instances[0];
    env.DATABASE_URL = source(urls.source);
    env.GROUPSYNC_DATABASE_URL = own(urls.own);
    env.CHANGES_URL = changes(urls.source);
    Object.assign(env, more.env);
  };
  const tokenTable = newcomer.named("groupsync_tokens.tokens");
  const customer: Customer = {
    world,
    tokens: own.query,
    tokenTable,
    async addTenants(from, to) {
      await database.query(insertTenants(from, to));
    },
    async setUp() {
      const flags = ["--base-url", sandbox.baseUrl, "--mapping", "40=warehouse", "--property", "plan"];
      expectEnded(await customer.run("init", ...flags), { code: 0, stderr: "" });
      await newcomer.followSteps();
      const [reader, writer] = [new URL(env.DATABASE_URL ?? ""), new URL(env.GROUPSYNC_DATABASE_URL ?? "")];
      for (const { username } of [reader, writer]) {
        for (const [name, value] of Object.entries(roleSettings)) {
          await database.query(`ALTER ROLE ${username} SET ${name} = '${value}'`);
        }
      }
      if (own !== database) {
        for (const schema of ["groupsync", "groupsync_tokens"].map(newcomer.named))
          await own.query(`CREATE SCHEMA ${schema} AUTHORIZATION ${writer.username}`);
        writer.pathname = own.name;
        onTestFinished(async () => void (await own.query(`DROP OWNED BY ${writer.username} CASCADE`)));
      }
      urls = { source: reader.href, own: writer.href };
      if (hasChannel) await follow(/pg_notify/);
      const needsOwnLine = running.instances.some(({ changes }) => changes);
      await customer.configure({
        "deletion.grace_period": "0s",
        ...(hasChannel && { "source.changes.channel": "customers_changed" }),
        ...(hasChannel && needsOwnLine && { "source.changes.url": fromEnvironment("CHANGES_URL") }),
      });
    },
    async configure(changes) {
      const config = parseDocument(await readFile(newcomer.configFile, "utf8"));
      for (const [path, value] of Object.entries(changes)) {
        if (value === undefined) config.deleteIn(path.split("."));
        else config.setIn(path.split("."), value);
      }
      insistOnSchema(String(config));
      await writeFile(newcomer.configFile, String(config));
    },
    async config() {
      const text = await readFile(newcomer.configFile, "utf8");
      return { restore: () => writeFile(newcomer.configFile, text) };
    },
    async takeTurn() {
      await settled();
      be(turn++ % running.instances.length);
    },
    async runAll(...args) {
      await settled();
      const ended = running.instances.map((_, instance) => {
        be(instance);
        return world.run(...args);
      });
      return await Promise.all(ended);
    },
    async run(...args) {
      await customer.takeTurn();
      return await world.run(...args);
    },
    async report(...args) {
      const ended = await customer.run(...args, "--json");
      return { ...ended, report: ended.stdout === "" ? {} : JSON.parse(ended.stdout) };
    },
    storedIds: async () => Object.keys(await newcomer.tokens(own)),
    async expectEqual() {
      await settled();
      expect(
        await judge({ tenants: database.query, tokens: own.query, tokenTable, service: sandbox }),
      ).toEqual([]);
    },
    async version() {
      const [row] = await database.query(VERSION[kind]);
      return /^[\d.]+/.exec(String(row?.version))?.[0] ?? "";
    },
  };
  return customer;
}

/** If the program ended otherwise, everything that it said is in the error. */
export const expectEnded = (ended: Ended, expected: object): void =>
  expect(ended, `${ended.stdout}\n${ended.stderr}`).toMatchObject(expected);

const DEFAULT_ENCODING = { postgres: "", mysql: "CHARACTER SET utf8mb4" } as const;

const VERSION = {
  postgres: "SELECT current_setting('server_version') AS version",
  mysql: "SELECT version() AS version",
} as const;

function insertTenants(from: number, to: number): string {
  const numbers = Array.from({ length: to - from + 1 }, (_, index) => from + index);
  const rows = numbers.map((n) => `('${idOf(n)}', 'Bäckerei ${n}', 'warehouse-${n}', 'gold')`);
  return `INSERT INTO customers (id, company_name, warehouse, plan) VALUES ${rows.join(", ")}`;
}

/** A database that goes with its server. */
async function aDatabase({ kind, url: server }: Running, options: string): Promise<FreshDatabase> {
  const name = `shop_${randomBytes(4).toString("hex")}`;
  const admin = SERVERS[kind].connect(server);
  await admin.query(`CREATE DATABASE ${name} ${options}`).finally(admin.end);
  const url = Object.assign(new URL(server), { pathname: `/${name}` }).href;
  const { query, end } = SERVERS[kind].connect(url);
  onTestFinished(end);
  return { kind, name, url, query };
}
