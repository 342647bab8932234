import { expect, inject, test } from "vitest";
import type { SandboxOptions } from "../../../src/sandbox/server.ts";
import { textOf } from "../../daemon/status-page/shown-page.ts";
import { aRole } from "../../support/databases/role.ts";
import { lockTable } from "../../support/databases/table-lock.ts";
import { LONG } from "../../support/long.ts";
import { backUp, LEDGER } from "../recovery/backup.ts";
import { aWorld, type ConfigChanges, fromEnvironment, idOf, type World } from "../world.ts";
import { aDaemon, EVERY_SECOND, type RunningDaemon, signUp, WITH_SYNC_KEY } from "./a-daemon.ts";
import { listeners } from "./listeners.ts";
import { passSinceAnswer } from "./pass-time.ts";

const TENANTS = 50;

interface Scene {
  readonly world: World;
  readonly daemon: RunningDaemon;
  readonly hook: Awaited<ReturnType<typeof listeners>>;
  /** What the status page says, as text. */
  page(): Promise<string>;
  configure(changes: ConfigChanges): Promise<void>;
}

/** Something goes wrong while all is well, and is put right by doing what the page says. */
interface Night {
  /** A role of its own writes the tokens. */
  readonly withRole?: boolean;
  readonly config?: ConfigChanges;
  happens(scene: Scene): Promise<unknown>;
  /** What the page says, what /readyz adds to its first line, and what the webhook was told. */
  readonly says: RegExp;
  readonly ready: RegExp;
  readonly told: RegExp | null;
  /** What `groupsync status` says. Null: only the daemon knows. */
  readonly status: RegExp | null;
  /** A line of /metrics that an alert asks for. */
  readonly metric: RegExp;
  /** What `explain` says of the tenant with this number. */
  readonly explained?: readonly [tenant: number, text: RegExp];
  /** What a person does then, and nothing else. */
  heals(scene: Scene, page: string): Promise<unknown>;
}

/** The command that the page shows, as arguments. It names the config, as this world's environment does. */
function shownCommand(page: string, command: RegExp): string[] {
  const [found] = command.exec(page) ?? [];
  expect(found, page).toBeDefined();
  return (found ?? "").split(" ").slice(1);
}

const SERVICE: SandboxOptions = { existing: "update" };

const serveKey = ({ world }: Scene, apiKey = world.env.GROUPSYNC_API_KEY ?? ""): Promise<void> =>
  world.serve({ ...SERVICE, apiKey });

const ANOTHER_KEY = "another-key-than-the-one-of-the-config";

const NIGHTS: Readonly<Record<string, Night>> = {
  "the key is revoked, and nothing is to be done": {
    happens: async (scene) => {
      await serveKey(scene, ANOTHER_KEY);
      await passSinceAnswer(scene.world);
      await passSinceAnswer(scene.world);
    },
    says: /HTTP 401.*service\.api_key/s,
    ready: /The last sync failed: KEY_REFUSED/,
    told: /The last sync failed: KEY_REFUSED/,
    status: /HTTP 401/,
    metric: /^groupsync_runs_total\{outcome="failed"\} [1-9]/m,
    heals: (scene) => serveKey(scene),
  },
  "the key is revoked, and somebody signs up": {
    config: WITH_SYNC_KEY,
    happens: async (scene) => {
      await serveKey(scene, ANOTHER_KEY);
      await scene.world.addTenants(TENANTS + 1, TENANTS + 1);
      await signUp(scene.daemon, idOf(TENANTS + 1), { wait: "5s" });
    },
    says: /HTTP 401/,
    ready: /KEY_REFUSED/,
    told: /KEY_REFUSED/,
    status: null,
    metric: /^groupsync_runs_total\{outcome="failed"\} [1-9]/m,
    heals: async (scene) => {
      await serveKey(scene);
      await signUp(scene.daemon, idOf(TENANTS + 1), { wait: "60s" });
    },
  },
  "the service is down": {
    happens: async ({ world }) => {
      await world.sandbox.close();
      await world.addTenants(TENANTS + 1, TENANTS + 2);
    },
    says: /The last sync failed: .*ECONNREFUSED/,
    ready: /The last sync failed: SERVICE_UNAVAILABLE/,
    told: /The last sync failed: SERVICE_UNAVAILABLE/,
    status: /ECONNREFUSED/,
    metric: /^groupsync_runs_total\{outcome="failed"\} [1-9]/m,
    heals: ({ world }) => world.serve(SERVICE),
  },
  "a firewall answers in the service's place": {
    happens: async ({ world }) => {
      await world.serve({ ...SERVICE, shares: { html: 1 } });
      await world.addTenants(TENANTS + 1, TENANTS + 2);
    },
    says: /HTML/,
    ready: /The last sync failed: INTERMEDIARY_REFUSED/,
    told: /The last sync failed: INTERMEDIARY_REFUSED/,
    status: /HTML/,
    metric: /^groupsync_runs_total\{outcome="failed"\} [1-9]/m,
    heals: ({ world }) => world.serve(SERVICE),
  },
  "the service is slower than the limit of a request": {
    config: { service: { timeout: "1s" } },
    happens: async ({ world }) => {
      await world.serve({ ...SERVICE, latency: { min: 2_000, max: 2_000 } });
      await world.addTenants(TENANTS + 1, TENANTS + 1);
    },
    says: /TIMEOUT|no answer within/,
    ready: /TIMEOUT|failing group/,
    told: /no answer|failing group/,
    status: /no answer|TIMEOUT/,
    metric: /^groupsync_groups_in_state\{state="failing"\} 1$/m,
    heals: ({ world }) => world.serve(SERVICE),
  },
  "40 % of the tenants are gone, and are meant to be": {
    config: { deletion: { grace_period: "0" } },
    happens: ({ world }) => world.removeTenants(1, 20),
    says: /Needs attention: 20 deletions are held/,
    ready: /Needs attention: 20 deletions are held/,
    told: /20 deletions are held.*\n.*groupsync sync --approve-deletions/,
    status: /groupsync --config \S+ sync --approve-deletions/,
    metric: /^groupsync_held_removals 20$/m,
    explained: [1, /held/],
    heals: async ({ world }, page) => {
      const { code } = await world.run(
        ...shownCommand(page, /groupsync --config \S+ sync --approve-deletions [0-9a-f]{20}/),
      );
      expect(code).toBe(0);
    },
  },
  "30 rows have a mistake": {
    happens: ({ world }) =>
      world.database.query("UPDATE customers SET company_name = '' WHERE id <= $1", [idOf(30)]),
    says: /Needs attention: 30 rejected rows.*t-00001/s,
    ready: /Needs attention: 30 rejected rows/,
    told: /30 rejected rows/,
    status: /30 rows.*t-00001/s,
    metric: /^groupsync_rejected_rows 30$/m,
    explained: [1, /name/],
    heals: ({ world }) =>
      world.database.query("UPDATE customers SET company_name = 'Corrected' WHERE company_name = ''"),
  },
  "the source's table is locked": {
    config: { schedule: "* * * * * *" },
    happens: async ({ world }) => {
      LOCKS.set(world, await lockTable(world.database, "customers"));
    },
    says: /The last sync failed: .*(held by|may be session)/,
    ready: /The last sync failed: SOURCE_UNAVAILABLE/,
    told: /SOURCE_UNAVAILABLE/,
    status: /held by|may be session/,
    metric: /^groupsync_runs_total\{outcome="failed"\} [1-9]/m,
    heals: async ({ world }) => LOCKS.get(world)?.release(),
  },
  "the config that SIGHUP reads has a mistake": {
    happens: async ({ configure, daemon }) => {
      await configure({ scheduel: "* * * * *" });
      daemon.program.child.kill("SIGHUP");
    },
    says: /the new config was rejected.*scheduel/s,
    ready: /the new config was rejected/,
    told: /the new config was rejected/,
    status: null,
    metric: /^groupsync_config_last_reload_successful 0$/m,
    heals: async ({ configure, daemon }) => {
      await configure({});
      daemon.program.child.kill("SIGHUP");
    },
  },
  "a new token is wanted, and the service is away": {
    config: WITH_SYNC_KEY,
    happens: async ({ world }) => {
      await world.sandbox.close();
      await world.run("rotate", "--only", idOf(1));
    },
    says: /1 new token wanted/,
    ready: /1 new token wanted/,
    told: /1 new token wanted/,
    status: /1 new token wanted|wanted/,
    metric: /^groupsync_groups_in_state\{state="wanted"\} 1$/m,
    explained: [1, /rotat|wanted/],
    heals: async ({ world }) => {
      await world.serve(SERVICE);
      expect((await world.run("sync")).code).toBe(0);
    },
  },
  "the database comes back as it was a while ago": {
    config: WITH_SYNC_KEY,
    happens: async ({ world, daemon }) => {
      const restore = await backUp(world.database, LEDGER);
      await world.addTenants(TENANTS + 1, TENANTS + 3);
      for (let n = TENANTS + 1; n <= TENANTS + 3; n++) await signUp(daemon, idOf(n));
      await world.sandbox.close();
      await restore();
      await signUp(daemon, idOf(1), { wait: "5s" });
    },
    says: /\d+ groups? in doubt/,
    ready: /\d+ groups? in doubt/,
    told: /\d+ groups? in doubt/,
    status: /\d+ groups? in doubt/,
    metric: /^groupsync_groups_in_state\{state="in_doubt"\} [1-9]/m,
    explained: [TENANTS + 1, /in doubt/],
    heals: async ({ world }) => {
      await world.serve(SERVICE);
      expect((await world.run("sync")).code).toBe(0);
    },
  },
  "the webhook's address is dead": {
    happens: async ({ hook, world }) => {
      hook.die(true);
      await world.database.query("UPDATE customers SET company_name = '' WHERE id = $1", [idOf(2)]);
    },
    says: /notify\.webhook.*not reached/s,
    ready: /notify\.webhook.*not reached/,
    told: null,
    status: null,
    metric: /^groupsync_notify_last_send_successful\{.*webhook.*\} 0$/m,
    heals: async ({ hook, world }) => {
      hook.die(false);
      await world.database.query("UPDATE customers SET company_name = 'Right' WHERE id = $1", [idOf(2)]);
    },
  },
  "the role of the tokens may no longer insert": {
    withRole: true,
    happens: async ({ world }) => {
      const writer = new URL(world.env.TOKENS_URL ?? "").username;
      await world.database.query(`REVOKE INSERT ON groupsync_tokens FROM ${writer}`);
      await world.addTenants(TENANTS + 1, TENANTS + 1);
    },
    says: /GRANT/,
    ready: /TOKEN_STORE/,
    told: /TOKEN_STORE/,
    status: /groupsync --config \S+ check/,
    metric: /^groupsync_runs_total\{outcome="failed"\} [1-9]/m,
    heals: async ({ world }, page) => {
      const [grant] = /GRANT [A-Z, ]+ ON \S+ TO \S+?(?=[;.]?\s)/.exec(page) ?? [];
      expect(grant, page).toBeDefined();
      await world.database.query(grant ?? "");
    },
  },
};

const LOCKS = new WeakMap<World, { release(): Promise<void> }>();

/** A role that owns the tokens' tables. */
async function withOwnTokens(world: World, base: ConfigChanges): Promise<void> {
  const { name, url } = await aRole(world.database);
  await world.database.query(`GRANT USAGE, CREATE ON SCHEMA public TO ${name}`);
  world.env.TOKENS_URL = url;
  const own = { url: fromEnvironment("DATABASE_URL") };
  await world.configure({ ...base, tokens: { url: fromEnvironment("TOKENS_URL") }, ledger: own });
}

/** MySQL takes no right on a table back that a role has on its whole database. */
const nights = Object.entries(NIGHTS).filter(
  ([, { withRole }]) => !withRole || inject("databaseKind") === "postgres",
);

test.runIf(LONG).each(nights)("%s", { timeout: 600_000 }, async (_, night) => {
  const hook = await listeners();
  const base: ConfigChanges = { ...EVERY_SECOND, ...hook.config, ...night.config };
  const world = await aWorld({ tenants: TENANTS, service: SERVICE, config: base });
  if (night.withRole) await withOwnTokens(world, base);
  const daemon = await aDaemon(world);
  const page = async (): Promise<string> => textOf((await daemon.page("/")).text);
  const scene: Scene = {
    world,
    daemon,
    hook,
    page,
    configure: (more) => world.configure({ ...base, ...more }),
  };
  const poll = (ask: () => Promise<string>) => expect.poll(ask, { timeout: 300_000 });
  await poll(page).toContain("All is well");

  await night.happens(scene);
  await poll(page).toMatch(night.says);
  const shown = await page();
  expect((await daemon.page("/readyz")).text).toMatch(night.ready);
  const samples = async (): Promise<string> =>
    (await daemon.page("/metrics")).text.replace(/^(#|.*_duration_).*\n/gm, "");
  await poll(samples).toMatch(night.metric);
  if (night.status) expect((await world.run("status")).stdout).toMatch(night.status);
  if (night.explained) {
    const [tenant, text] = night.explained;
    expect((await world.run("explain", idOf(tenant))).stdout).toMatch(text);
  }
  if (night.told) await poll(async () => hook.news().join("\n\n")).toMatch(night.told);

  await night.heals(scene, shown);
  await poll(page).toContain("All is well");
  expect((await daemon.page("/readyz")).text.trim()).not.toContain("\n");
  expect(await world.stored()).toEqual(await world.live());
});
