import { chmod } from "node:fs/promises";
import { expect, test } from "vitest";
import { aWorld, until } from "../world.ts";

const CODE = "SECRETS_READABLE";

const warningsIn = (text: string): readonly unknown[] =>
  text
    .split("\n")
    .filter((line) => line.includes(CODE))
    .map((line) => JSON.parse(line));

/** A world with the API key in a config file that everybody can read. */
async function aReadableWorld() {
  const world = await aWorld();
  await world.configure({ service: { api_key: world.sandbox.apiKey } });
  await chmod(world.folder, 0o755);
  await chmod(world.configFile, 0o644);
  return world;
}

test("a config with a key in it that everybody can read causes a warning, and the same exit code", async () => {
  const world = await aReadableWorld();
  for (const command of ["sync", "plan", "status"]) {
    const { code, stderr } = await world.run(command);
    expect(code).toBe(0);
    expect(warningsIn(stderr)).toEqual([
      expect.objectContaining({
        level: "warn",
        code: CODE,
        msg: `everybody on this machine can read ${world.configFile} (mode 0644), and secrets stand in it`,
        hint: expect.stringContaining(`chmod 600 '${world.configFile}'`),
      }),
    ]);
  }
  await chmod(world.configFile, 0o600);
  expect((await world.run("sync")).stderr).not.toContain(CODE);
  await world.configure({});
  await chmod(world.configFile, 0o644);
  expect((await world.run("sync")).stderr).not.toContain(CODE);
});

test("the daemon warns at its start and when it reads the config again, but not at each sync", async () => {
  const world = await aReadableWorld();
  await world.configure({
    service: { api_key: world.sandbox.apiKey },
    http: { listen: "off" },
    schedule: "* * * * * *",
  });
  const daemon = world.start("run");
  const synced = () => daemon.output().split('"command":"sync"').length - 1;
  await until(() => synced() >= 2 || daemon.child.exitCode !== null);
  expect(warningsIn(daemon.output())).toHaveLength(1);
  daemon.child.kill("SIGHUP");
  await until(() => daemon.output().includes("was read again") || daemon.child.exitCode !== null);
  const { code, stderr } = await daemon.stop("SIGTERM");
  expect(code).toBe(0);
  expect(warningsIn(stderr)).toHaveLength(2);
});
