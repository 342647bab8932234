import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, test } from "vitest";
import { freshDatabase } from "../../support/databases/fresh-database.ts";
import { tcpProxy } from "../../support/servers/tcp-proxy.ts";
import { aWorld, idOf, until } from "../world.ts";
import { aDaemon, EVERY_SECOND } from "./a-daemon.ts";

const withMissingCa = (url: string): string => {
  const changed = new URL(url);
  changed.search =
    changed.protocol === "mysql:"
      ? "ssl-mode=VERIFY_IDENTITY&ssl-ca=/gone/ca.pem"
      : "sslmode=verify-full&sslrootcert=/gone/ca.pem";
  return changed.href;
};

test("a daemon syncs at its start, and at each scheduled time what has changed since", async () => {
  // By default a sync of every second is too old after three.
  const http = { ...EVERY_SECOND.http, stale_after: "10m" };
  const config = { ...EVERY_SECOND, http };
  const world = await aWorld({ database: await freshDatabase(), tenants: 3, config });
  const daemon = await aDaemon(world);
  await daemon.ran(1);
  expect(daemon.runs()[0]).toMatchObject({
    level: "info",
    run: "1",
    command: "sync",
    outcome: "ok",
    created: 3,
    next: expect.stringMatching(/^\d{4}-/),
    msg: expect.stringMatching(/^sync ok: 3 created; 3 requests in /),
  });
  expect(await daemon.page("/healthz")).toEqual({ status: 200, text: "ok\n" });
  expect(await daemon.page("/readyz")).toMatchObject({ status: 200 });

  // A sync that goes on has the old config.
  await daemon.ran(daemon.runs().length + 1);
  await world.addTenants(4, 5);
  await until(async () => Object.keys(await world.stored()).length === 5);
  expect(await world.stored()).toEqual(await world.live());
  expect(await world.requests()).toMatchObject({ total: 5 });
  await until(async () =>
    (await daemon.page("/metrics")).text.includes('groupsync_groups_in_state{state="in_sync"} 5'),
  );
  expect((await daemon.page("/metrics")).text).toContain(
    'groupsync_requests_total{operation="get",result="ok"} 5',
  );
  // The page shows it only between two syncs, and a sync begins every second.
  await until(async () => (await daemon.page("/")).text.includes("All is well."));

  const { code } = await daemon.program.stop("SIGTERM");
  expect(code).toBe(0);
  expect(await world.status()).toMatchObject({ lease: null, groups: { in_sync: 5 } });
  await until(async () => (await world.sessions()) === 0);
});

test("a database outage of two scheduled times fails two runs, and the next run continues", async () => {
  const world = await aWorld({
    tenants: 2,
    config: { ...EVERY_SECOND, http: { listen: "127.0.0.1:0", stale_after: "1s" } },
  });
  const proxy = await tcpProxy(world.database.url);
  world.env.DATABASE_URL = proxy.url;
  const daemon = await aDaemon(world);
  await daemon.ran(1);

  proxy.limit(0);
  const before = daemon.runs().length;
  await daemon.ran(before + 2);
  expect(daemon.runs().at(-1)).toMatchObject({
    level: "error",
    outcome: "failed",
    code: expect.stringMatching(/_UNAVAILABLE$/),
  });
  await until(async () => (await daemon.page("/readyz")).status === 503);
  expect((await daemon.page("/readyz")).text).toMatch(
    /ago, and has been too old for .+\nThe last sync failed: LEDGER_UNAVAILABLE/,
  );
  expect(await daemon.page("/healthz")).toMatchObject({ status: 200 });

  proxy.limit(Number.POSITIVE_INFINITY);
  await world.addTenants(3, 3);
  await until(async () => (await daemon.page("/readyz")).status === 200);
  expect(await world.stored()).toEqual(await world.live());
  expect(Object.keys(await world.live())).toContain(idOf(3));
  expect((await daemon.program.stop("SIGTERM")).code).toBe(0);
});

test("SIGHUP makes the daemon read its config again; a wrong config is reported, and the old one stays", async () => {
  const world = await aWorld({ tenants: 2, config: EVERY_SECOND });
  const daemon = await aDaemon(world);
  await daemon.ran(1);

  await writeFile(world.configFile, `${await readFile(world.configFile, "utf8")}\nschedul: "* * * * *"\n`);
  daemon.program.child.kill("SIGHUP");
  await daemon.says("the new config was rejected, and the old one stays in force");
  expect(daemon.lines().find(({ code }) => code === "CONFIG_INVALID")).toMatchObject({
    level: "error",
    msg: expect.stringContaining('schedul: unknown key; did you mean "schedule"?'),
  });
  await world.addTenants(3, 3);
  await until(async () => Object.keys(await world.live()).length === 3);

  await world.configure({ ...EVERY_SECOND, name: "another" });
  daemon.program.child.kill("SIGHUP");
  await until(() => daemon.lines().some(({ code }) => code === "CONFIG_NEEDS_RESTART"));

  await world.configure({ ...EVERY_SECOND, tokens: { url: withMissingCa(world.database.url) } });
  daemon.program.child.kill("SIGHUP");
  await daemon.says("the new config was rejected, and the old one stays in force: the file /gone/ca.pem");

  await world.configure({ ...EVERY_SECOND, group: { name: "compny_name" } });
  const before = await world.requests();
  daemon.program.child.kill("SIGHUP");
  await until(() => daemon.lines().some(({ code }) => code === "CONFIG_COLUMNS"));
  const { text } = await daemon.page("/");
  expect(text).toContain("the new config was rejected");
  expect(text).toContain("customers has no column compny_name");
  expect((await daemon.page("/metrics")).text).toContain("groupsync_config_last_reload_successful 0");
  expect(await world.requests()).toEqual(before);
  const runs = daemon.runs().length;
  await daemon.ran(runs + 2);
  expect(daemon.runs().at(-1)).toMatchObject({ outcome: "ok" });

  await world.configure({
    ...EVERY_SECOND,
    source: { where: `id <> '${idOf(4)}'` },
    http: { listen: "127.0.0.1:0" },
  });
  daemon.program.child.kill("SIGHUP");
  await daemon.says("the config was read again; the next sync uses it");
  expect((await daemon.page("/metrics")).text).toContain("groupsync_config_last_reload_successful 1");
  // A sync that goes on has the old config.
  await daemon.ran(daemon.runs().length + 1);
  await world.addTenants(4, 5);
  await until(async () => Object.keys(await world.live()).includes(idOf(5)));
  expect(Object.keys(await world.live())).not.toContain(idOf(4));
  expect((await daemon.program.stop("SIGTERM")).code).toBe(0);
});

test("an API key in a file is read at each run, so a new key needs no restart", async () => {
  const world = await aWorld({ tenants: 1 });
  const keyFile = join(world.folder, "key");
  const key = world.sandbox.apiKey;
  await writeFile(keyFile, `${key}\n`);
  await world.configure({ ...EVERY_SECOND, service: { api_key: `\${file:${keyFile}}` } });
  const daemon = await aDaemon(world);
  await daemon.ran(1);

  await world.serve({ apiKey: "another-key" });
  await world.addTenants(2, 2);
  await until(() => daemon.runs().some(({ code }) => code === "KEY_REFUSED"));
  await writeFile(keyFile, "");
  await until(() => daemon.runs().some(({ code }) => code === "CONFIG_INVALID"));
  await writeFile(keyFile, "another-key\n");
  await until(async () => Object.keys(await world.stored()).length === 2);
  expect((await daemon.program.stop("SIGINT")).code).toBe(0);
});

test("a wrong config or a taken address ends the daemon before anything begins", async () => {
  const world = await aWorld({ tenants: 1, config: { ...EVERY_SECOND, jitter: "2h" } });
  const wrong = await world.run("run");
  expect(wrong).toMatchObject({
    code: 78,
    stderr: expect.stringContaining("jitter: is not a duration up to 1h"),
  });

  await world.configure({ ...EVERY_SECOND, tokens: { url: withMissingCa(world.database.url) } });
  expect(await world.run("run")).toMatchObject({ code: 78, stderr: expect.stringContaining("/gone/ca.pem") });

  world.env.GROUPSYNC_HTTP_LISTEN = new URL(world.sandbox.baseUrl).host;
  await world.configure({ schedule: EVERY_SECOND.schedule });
  const taken = await world.run("run");
  expect(taken).toMatchObject({
    code: 1,
    stderr: expect.stringMatching(/cannot listen on .*EADDRINUSE.*\n.*http\.listen/),
  });
  expect(await world.requests()).toMatchObject({ total: 0 });
});
