import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { expect, onTestFinished } from "vitest";
import { stringify } from "yaml";
import { EXIT } from "../../src/core/report/exit-code.ts";
import type { RequestReport } from "../../src/sandbox/request-counts.ts";
import type { GroupsReport } from "../../src/sandbox/routes.ts";
import { type Sandbox, type SandboxOptions, startSandbox } from "../../src/sandbox/server.ts";
import { preparedDatabase } from "../adapters/sql/ledger/prepared-database.ts";
import { aClient, type Client } from "../sandbox/client.ts";
import { insistOnSchema } from "../support/config-schema.ts";
import { type FreshDatabase, freshDatabase } from "../support/databases/fresh-database.ts";
import { LONG } from "../support/long.ts";
import { temporaryFolder } from "../support/temporary-folder.ts";
import { programSessions } from "./database/database-acts.ts";
import { type Ended, type Program, startProgram } from "./program.ts";
import { runCommand } from "./warm-program.ts";

/** Keys that replace or join those of the default config, section by section. */
export type ConfigChanges = Readonly<
  Record<string, string | readonly unknown[] | Readonly<Record<string, unknown>>>
>;

export interface WorldOptions {
  /** By default one that has the ledger's tables already. In a long run, by default an empty one. */
  readonly database?: FreshDatabase;
  /** Rows in the customers table. */
  readonly tenants?: number;
  readonly service?: SandboxOptions;
  readonly config?: ConfigChanges;
}

// biome-ignore lint/suspicious/noExplicitAny: tests look into objects of every shape
type Printed = any;

export interface SyncEnded extends Ended {
  /** What `sync --json` or `rotate --json` printed. */
  readonly report: Readonly<Record<string, unknown>>;
}

/** A customer's database, a config file, and a sandbox to sync it with. */
export interface World {
  readonly database: FreshDatabase;
  /** A folder for the test's own files. It is removed at the end. */
  readonly folder: string;
  readonly configFile: string;
  /** GROUPSYNC_CONFIG, DATABASE_URL and GROUPSYNC_API_KEY; a test may change it. */
  readonly env: Record<string, string>;
  readonly sandbox: Sandbox;
  addTenants(from: number, to: number): Promise<void>;
  removeTenants(from: number, to: number): Promise<void>;
  /** Writes the config file again, with these changes to the default one. */
  configure(changes: ConfigChanges): Promise<void>;
  /** Starts the sandbox again at its old address, by default with the groups that it had. */
  serve(options: SandboxOptions): Promise<void>;
  /** Starts the program in a process of its own. */
  start(...args: string[]): Program;
  /** Runs a command to its end, by default in a warm process. Throws if it takes a config that the JSON Schema refuses. */
  run(...args: string[]): Promise<Ended>;
  /** Runs `sync --json`. */
  sync(...args: string[]): Promise<SyncEnded>;
  /** Runs `rotate --json`. */
  rotate(...args: string[]): Promise<SyncEnded>;
  /** What `plan --json` prints. */
  plan(): Promise<Printed>;
  /** What `status --json` prints. */
  status(): Promise<Printed>;
  /** Calls the sandbox without groupsync, as somebody else with the same key could. */
  call: Client["call"];
  /** Token by id, as the sandbox has it. */
  live(): Promise<Readonly<Record<string, string>>>;
  /** Token by id, as groupsync_tokens has it, in the customer's database or in this one. */
  stored(database?: FreshDatabase): Promise<Readonly<Record<string, string>>>;
  /** All groups of the sandbox, in the order of their ids. */
  groups(): Promise<GroupsReport["groups"]>;
  requests(): Promise<RequestReport>;
  /** Every token that the sandbox has ever made. */
  tokensEver(): Promise<readonly string[]>;
  /** How many connections the program has to the database. */
  sessions(): Promise<number>;
  /** Counts requests from zero again. */
  forgetRequests(): Promise<void>;
}

/**
 * A world for the running test. When the test is over, searches everything that the program printed in this world
 * for tokens, the API key, the database's password and stack traces.
 */
export async function aWorld({
  tenants = 5,
  service = {},
  config = {},
  ...given
}: WorldOptions = {}): Promise<World> {
  const database = given.database ?? (await (LONG ? freshDatabase() : preparedDatabase()));
  await database.query(
    `CREATE TABLE customers (
       id varchar(100) PRIMARY KEY, company_name text, warehouse text, plan text, dashboard_token text)`,
  );
  const folder = temporaryFolder();

  const state = join(folder, "sandbox-state");
  let sandbox = await startSandbox({ state, ...service });
  let client = aClient(sandbox);
  const port = Number(new URL(sandbox.baseUrl).port);
  onTestFinished(() => sandbox.close());

  const configFile = join(folder, "config.yaml");
  let yaml = "";
  const env: Record<string, string> = {
    GROUPSYNC_CONFIG: configFile,
    GROUPSYNC_API_KEY: sandbox.apiKey,
    DATABASE_URL: database.url,
  };
  const programs: Pick<Program, "output">[] = [];
  const secrets = new Set([sandbox.apiKey, new URL(database.url).password]);
  const tokens = new Set<string>();

  const world: World = {
    database,
    folder,
    configFile,
    env,
    get sandbox() {
      return sandbox;
    },
    async addTenants(from, to) {
      const rows = Array.from({ length: to - from + 1 }, (_, index) => from + index).map(
        (n) => `('${idOf(n)}', 'Company ${n}', 'warehouse-${n}', 'gold')`,
      );
      await database.query(
        `INSERT INTO customers (id, company_name, warehouse, plan) VALUES ${rows.join(", ")}`,
      );
    },
    async removeTenants(from, to) {
      await database.query("DELETE FROM customers WHERE id BETWEEN $1 AND $2", [idOf(from), idOf(to)]);
    },
    async configure(changes) {
      yaml = stringify(configWith(sandbox.baseUrl, changes), { aliasDuplicateObjects: false });
      await writeFile(configFile, yaml);
    },
    async serve(options) {
      await rememberTokens();
      await sandbox.close();
      sandbox = await startSandbox({ port, state, ...options });
      secrets.add(sandbox.apiKey);
      client = aClient(sandbox);
    },
    start(...args) {
      const program = startProgram(args, env);
      programs.push(program);
      return program;
    },
    async run(...args) {
      const program = runCommand(args, env);
      programs.push(program);
      const ended = await program.ended;
      if (ended.code !== EXIT.config) insistOnSchema(yaml);
      return ended;
    },
    sync: (...args) => runWithReport("sync", ...args),
    rotate: (...args) => runWithReport("rotate", ...args),
    plan: async () => JSON.parse((await world.run("plan", "--json")).stdout),
    status: async () => JSON.parse((await world.run("status", "--json")).stdout),
    call: (...request) => client.call(...request),
    async live() {
      return tokensById(await world.groups());
    },
    async stored({ query } = database) {
      const rows = await query<TokenRow>("SELECT user_group_id, token FROM groupsync_tokens");
      return tokensById(rows.toSorted(byId));
    },
    async groups() {
      const { groups } = (await client.page("/sandbox/groups")).json as GroupsReport;
      return groups.toSorted(byId);
    },
    requests: async () => (await client.page("/sandbox/requests")).json as RequestReport,
    async tokensEver() {
      await rememberTokens();
      return [...tokens];
    },
    async sessions() {
      return (await programSessions(database)).length;
    },
    async forgetRequests() {
      await client.page("/sandbox/requests", "DELETE");
    },
  };
  const runWithReport = async (command: string, ...args: string[]): Promise<SyncEnded> => {
    const ended = await world.run(command, "--json", ...args);
    return { ...ended, report: ended.stdout === "" ? {} : JSON.parse(ended.stdout) };
  };
  /** Reads the tokens from the state file, which has them even if no sandbox runs, and also those of deleted groups. */
  const rememberTokens = async (): Promise<void> => {
    for (const [, token = ""] of (await readFile(state, "utf8")).matchAll(/"token":"([^"]+)"/g)) {
      tokens.add(token);
    }
  };
  onTestFinished(async () => {
    await rememberTokens();
    const output = programs.map((program) => program.output()).join("\n");
    const forbidden = [...secrets, ...tokens];
    expect(forbidden.filter((secret) => secret !== "" && output.includes(secret))).toEqual([]);
    expect(output).not.toMatch(/^ {4}at /m);
  });

  await world.configure(config);
  if (tenants > 0) await world.addTenants(1, tenants);
  return world;
}

/** A world in which everything is in sync, and the requests are counted from zero. */
export async function aSyncedWorld(options: WorldOptions = {}): Promise<World> {
  const world = await aWorld(options);
  expect((await world.sync()).code).toBe(0);
  await world.forgetRequests();
  return world;
}

/** The id that `addTenants` gives to the tenant with this number, from 1 to 99,999. Ids sort like the numbers. */
export const idOf = (number: number): string => `t-${String(number).padStart(5, "0")}`;

/** The config's reference to a variable of the environment. */
export const fromEnvironment = (name: string): string => `\${${name}}`;

/**
 * Polls until the condition holds. Only the test's own time limit ends the wait. A condition that takes long to check
 * is checked less often, because this process also has to answer as the sandbox.
 */
export async function until(condition: () => boolean | Promise<boolean>): Promise<void> {
  for (;;) {
    const asked = performance.now();
    if (await condition()) return;
    await sleep(Math.max(10, 2 * (performance.now() - asked)));
  }
}

function configWith(baseUrl: string, changes: ConfigChanges): ConfigChanges {
  const whole: Record<string, ConfigChanges[string]> = {
    service: { base_url: baseUrl, api_key: fromEnvironment("GROUPSYNC_API_KEY") },
    source: { url: fromEnvironment("DATABASE_URL"), table: "customers" },
    group: { id: "id", name: "company_name", mapping: { "40": "warehouse" }, properties: { plan: "plan" } },
  };
  for (const [key, change] of Object.entries(changes)) {
    const before = whole[key];
    const areSections = [before, change].every((value) => typeof value === "object" && !Array.isArray(value));
    whole[key] = areSections ? Object.assign({}, before, change) : change;
  }
  return whole;
}

interface TokenRow {
  readonly [column: string]: unknown;
  readonly user_group_id: string;
  readonly token: string;
}

const byId = (a: Pick<TokenRow, "user_group_id">, b: Pick<TokenRow, "user_group_id">): number =>
  a.user_group_id < b.user_group_id ? -1 : 1;

const tokensById = (rows: readonly Pick<TokenRow, "user_group_id" | "token">[]): Record<string, string> =>
  Object.fromEntries(rows.map(({ user_group_id, token }) => [user_group_id, token]));
