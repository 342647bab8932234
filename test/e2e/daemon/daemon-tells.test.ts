import { expect, test } from "vitest";
import { writtenForms } from "../../support/databases/written-forms.ts";
import { aWorld, idOf, until, type WorldOptions } from "../world.ts";
import { aDaemon, EVERY_SECOND } from "./a-daemon.ts";
import { listeners } from "./listeners.ts";

const DELETING: WorldOptions["config"] = {
  deletion: { grace_period: "0s", limit: { count: 0, percent: 0 } },
};

test("the webhook gets each change of state, and the heartbeat each good sync", async () => {
  const { news, beats, told, config } = await listeners();
  const world = await aWorld({ tenants: 3, config: { ...EVERY_SECOND, ...DELETING, ...config } });
  const daemon = await aDaemon(world);
  await daemon.ran(2);
  expect(news()).toEqual([]);

  await world.removeTenants(3, 3);
  await until(() => news().length === 1);
  expect(news()[0]).toMatch(
    /^groupsync default: Needs attention: 1 deletion is held: .*\n.*groupsync sync --approve-deletions [0-9a-f]{20}\n(.*\n)*sync held: /,
  );
  const [, code = ""] = /--approve-deletions ([0-9a-f]{20})/.exec(news()[0] ?? "") ?? [];
  await until(async () => (await daemon.page("/")).text.includes(`--approve-deletions ${code}`));
  await world.addTenants(3, 3);
  await until(() => news().length === 2);
  expect(news()[1]).toMatch(
    /^groupsync default: recovered. Over: Needs attention: 1 deletion is held(.*\n)*sync ok: /,
  );

  await world.database.query("UPDATE customers SET company_name = NULL WHERE id = $1", [idOf(1)]);
  await until(() => news().length === 3);
  expect(news()[2]).toMatch(
    /^groupsync default: Needs attention: 1 rejected row\.\n.*\nsync partial: .*1 rejected/,
  );
  await until(() => beats() >= 4);
  expect(new Set(told.map(({ method, path }) => `${method} ${path}`))).toEqual(
    new Set(["POST /hook/s3cret", "GET /beat/s3cret"]),
  );
  expect((await daemon.program.stop("SIGTERM")).code).toBe(0);
});

test("no page, metric, log line or message holds a token, key or password, not even the warning that a message was not delivered", async () => {
  const { told, config } = await listeners();
  const notify = { ...config.notify, heartbeat: "http://127.0.0.1:9/beat/s3cret" };
  const world = await aWorld({
    tenants: 12,
    service: { shares: { fail: 0.2, "cut-after": 0.1 }, seed: 7 },
    config: { ...EVERY_SECOND, ...DELETING, notify, rotation: { max_age: "1s", max_per_run: 3 } },
  });
  world.env.GROUPSYNC_LOG_LEVEL = "trace";
  const daemon = await aDaemon(world);
  let shown = "";
  const look = async (): Promise<void> => {
    for (const path of ["/", "/healthz", "/readyz", "/metrics", "/nothing"])
      shown += (await daemon.page(path)).text;
  };
  for (let runs = 1; runs <= 3; runs++) {
    await daemon.ran(runs);
    await look();
  }
  await daemon.says("notify.heartbeat was not reached");
  expect(daemon.lines().find(({ code }) => code === "NOTIFY_FAILED")).toMatchObject({ level: "warn" });
  await world.removeTenants(12, 12);
  await world.database.query("UPDATE customers SET company_name = NULL WHERE id = $1", [idOf(1)]);
  await until(async () => (await daemon.page("/")).text.includes("--approve-deletions"));
  await look();
  await world.configure({ ...EVERY_SECOND, service: { api_key: "a-bad key-in-the-config" } });
  daemon.program.child.kill("SIGHUP");
  await daemon.says("the new config was rejected");
  await look();
  await daemon.program.stop("SIGTERM");

  const { env } = world;
  const forbidden = [
    ...(await world.tokensEver()),
    env.GROUPSYNC_API_KEY ?? "",
    new URL(env.DATABASE_URL ?? "").password,
    "a-bad key-in-the-config",
    "s3cret",
  ].filter((secret) => secret !== "");
  expect(forbidden.length).toBeGreaterThan(15);
  const everything = `${shown}\n${daemon.program.output()}\n${told.map(({ body }) => body).join("\n")}`;
  expect(everything).toContain(idOf(1));
  expect(forbidden.flatMap(writtenForms).filter((form) => everything.includes(form))).toEqual([]);
});
