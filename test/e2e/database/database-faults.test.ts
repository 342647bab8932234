import { expect, inject, test } from "vitest";
import type { DatabaseKind } from "../../support/databases/fresh-database.ts";
import { lockTable, untilWaiting } from "../../support/databases/table-lock.ts";
import { LEDGER_ELSEWHERE, LEDGER_TABLES } from "../ledger-tables.ts";
import { asRole } from "../role.ts";
import { aWorld, type ConfigChanges, type SyncEnded, until, type World } from "../world.ts";
import { endProgramSessions } from "./database-acts.ts";

/** A missing right: what the program says then, and the statements that grant the right. */
interface MissingRight {
  readonly said: readonly string[];
  readonly repair: readonly string[];
}

/** The words of each database's own errors. */
interface Complaints {
  readonly noSuchTable: string;
  readonly wrongSql: string;
  /** All that a role without any needs, one after the other; the ledger's tables are called LEDGER_ELSEWHERE. */
  readonly missingRights: (role: string) => readonly MissingRight[];
}

const COMPLAINTS: Readonly<Record<DatabaseKind, Complaints>> = {
  postgres: {
    noSuchTable: "relation",
    wrongSql: "operator",
    missingRights: (role) => [
      {
        said: ["there is no schema ops", `CREATE SCHEMA "ops" AUTHORIZATION "${role}"`],
        // Before PostgreSQL 15 everybody may create tables in public.
        repair: ["CREATE SCHEMA ops", "REVOKE ALL ON SCHEMA public FROM public"],
      },
      {
        said: [
          `user ${role} may not create tables in schema ops`,
          `GRANT USAGE, CREATE ON SCHEMA "ops" TO "${role}"`,
        ],
        repair: [`GRANT USAGE, CREATE ON SCHEMA ops TO ${role}`, `GRANT USAGE ON SCHEMA public TO ${role}`],
      },
      {
        said: [
          `user ${role} may not create tables in schema public`,
          `GRANT USAGE, CREATE ON SCHEMA "public" TO "${role}"`,
        ],
        repair: [
          "CREATE TABLE groupsync_tokens (user_group_id text PRIMARY KEY, token text, updated_at timestamptz)",
          `ALTER TABLE groupsync_tokens OWNER TO ${role}`,
          `REVOKE INSERT, UPDATE, DELETE ON groupsync_tokens FROM ${role}`,
        ],
      },
      {
        said: [
          `user ${role} may not write tokens to groupsync_tokens`,
          `GRANT SELECT, INSERT, UPDATE, DELETE ON "public"."groupsync_tokens" TO "${role}"`,
        ],
        repair: [`GRANT SELECT, INSERT, UPDATE, DELETE ON groupsync_tokens TO ${role}`],
      },
      {
        said: ["permission denied for table customers", `GRANT SELECT ON "public"."customers" TO "${role}"`],
        repair: [`GRANT SELECT ON customers TO ${role}`],
      },
    ],
  },
  mysql: {
    noSuchTable: "Table",
    wrongSql: "You have an error in your SQL syntax",
    missingRights: (role) => [
      {
        said: [
          `user ${role}@% may not create the ledger's tables in database`,
          "GRANT SELECT, INSERT, UPDATE, DELETE, CREATE, ALTER, INDEX ON ",
        ],
        repair: LEDGER_TABLES.map(
          (table) => `GRANT CREATE, SELECT, INSERT, UPDATE, DELETE ON ops_groupsync_${table} TO ${role}`,
        ),
      },
      {
        said: [`SELECT command denied to user '${role}'@`, "groupsync_tokens", "grant the user the right"],
        repair: [`GRANT CREATE, SELECT ON groupsync_tokens TO ${role}`],
      },
      {
        said: [
          `user ${role}@% may not write tokens to groupsync_tokens`,
          ".`groupsync_tokens` TO ",
          `\`${role}\`@\`%\``,
        ],
        repair: [`GRANT INSERT, UPDATE, DELETE ON groupsync_tokens TO ${role}`],
      },
      {
        said: ["permission denied for table customers", "GRANT SELECT ON ", `TO \`${role}\`@\`%\``],
        repair: [`GRANT SELECT ON customers TO ${role}`],
      },
    ],
  },
};

const kind = inject("databaseKind");
const complaints = COMPLAINTS[kind];

/** Expects that nothing was lost: once the cause is gone, one sync brings everything in sync. */
async function expectRecovery(world: World): Promise<void> {
  expect(await world.sync()).toMatchObject({ code: 0, report: { outcome: "ok" } });
  expect(await world.stored()).toEqual(await world.live());
}

const errorOf = ({ report }: SyncEnded) => Array.isArray(report.errors) && report.errors[0];

test("a database that can't be reached fails the run, with a hint", async () => {
  const world = await aWorld({ tenants: 1 });
  const { DATABASE_URL: url = "" } = world.env;
  const nowhere = { username: "me", password: "a-password-of-mine", port: "1" };
  world.env.DATABASE_URL = Object.assign(new URL(url), nowhere).href;
  for (const command of ["sync", "plan", "status"]) {
    const { code, stdout, stderr } = await world.run(command);
    expect(code).toBe(1);
    expect(stdout + stderr).toMatch(/ECONNREFUSED[\s\S]*is the database running/);
    expect(stdout + stderr).not.toContain("a-password-of-mine");
  }
  world.env.DATABASE_URL = url;
  await expectRecovery(world);
});

test("the error names the table, column or other thing that the database doesn't have", async () => {
  const world = await aWorld();
  const mistakes: readonly (readonly [ConfigChanges, number, string, string])[] = [
    [
      { source: { table: "costumers" } },
      1,
      "SOURCE_UNAVAILABLE",
      `cannot read costumers: ${complaints.noSuchTable}`,
    ],
    [{ group: { name: "title" } }, 78, "CONFIG_COLUMNS", "customers has no column title"],
    [
      { source: { where: "plan == 1" } },
      78,
      "CONFIG_SOURCE",
      `cannot read customers: ${complaints.wrongSql}`,
    ],
  ];
  for (const [config, code, error, message] of mistakes) {
    await world.configure(config);
    const ended = await world.sync();
    expect(ended.code).toBe(code);
    expect(errorOf(ended)).toMatchObject({ code: error, message: expect.stringContaining(message) });
    expect(await world.run("plan")).toMatchObject({
      code,
      stdout: "",
      stderr: expect.stringContaining(message),
    });
  }
  expect(await world.requests()).toMatchObject({ total: 0 });
  await world.configure({});
  await expectRecovery(world);
});

test("each missing right is named, one after the other, until the sync works", async () => {
  const world = await aWorld({ config: { ledger: { table_prefix: LEDGER_ELSEWHERE[kind] } } });
  const role = await asRole(world);
  const planned = await world.run("plan");
  expect(planned.code).toBe(1);
  for (const words of complaints.missingRights(role)[0]?.said ?? []) expect(planned.stderr).toContain(words);
  for (const { said, repair } of complaints.missingRights(role)) {
    const { code, stdout } = await world.run("sync");
    expect(code).toBe(1);
    for (const words of said) expect(stdout).toContain(words);
    expect(await world.requests()).toMatchObject({ total: 0 });
    for (const statement of repair) await world.database.query(statement);
  }
  await expectRecovery(world);
});

test("the next sync settles what was under way when connections were cut", async () => {
  const world = await aWorld({ tenants: 200, service: { latency: { min: 100, max: 100 } } });
  const program = world.start("sync", "--json");
  await until(async () => (await world.requests()).total > 10);
  // A session that waits for this lock is in the middle of a transaction.
  const lock = await lockTable(world.database, "groupsync_tokens");
  await untilWaiting(world.database, 1);
  await endProgramSessions(world.database);
  await lock.release();
  const { code, stdout } = await program.ended;
  expect(code).toBe(1);
  expect(JSON.parse(stdout)).toMatchObject({
    outcome: "failed",
    // Tokens and ledger share the transaction, so the statement that is cut may be of either.
    errors: [{ user_group_id: null, code: expect.stringMatching(/^(LEDGER|TOKEN_STORE)_UNAVAILABLE$/) }],
  });
  await world.serve({});
  await expectRecovery(world);
});

test("idle connections that were cut are replaced", async () => {
  const world = await aWorld({ tenants: 9, service: { latency: { min: 1_000, max: 1_000 } } });
  const program = world.start("sync");
  // The first call is made alone. Once it is recorded, the next calls are under way, and no statement runs.
  await until(async () => (await world.requests()).max_in_flight > 1);
  await until(async () => Object.keys(await world.stored()).length === 1);
  await endProgramSessions(world.database);
  expect((await program.ended).code).toBe(0);
  expect(await world.stored()).toEqual(await world.live());
});
