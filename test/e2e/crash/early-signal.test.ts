import { expect, test } from "vitest";
import { bundleFile, PROGRAM } from "../../../build/load-bundle.ts";
import { someOf } from "../../support/long.ts";
import { aDaemon, EVERY_SECOND } from "../daemon/a-daemon.ts";
import { aWorld } from "../world.ts";

/** Makes the program send itself these signals while it is loading, before it reads most of its code. */
function whileLoading(...signals: NodeJS.Signals[]): Record<string, string> {
  const code = `
    import fs from "node:fs";
    import { syncBuiltinESMExports } from "node:module";
    const { readFileSync } = fs;
    fs.readFileSync = (path, ...options) => {
      if (String(path).endsWith("${bundleFile(PROGRAM)}"))
        for (const signal of ${JSON.stringify(signals)}) process.kill(process.pid, signal);
      return readFileSync(path, ...options);
    };
    syncBuiltinESMExports();`;
  return { NODE_OPTIONS: `--import=data:text/javascript,${encodeURIComponent(code)}` };
}

test("a SIGHUP while the daemon is loading reloads its config; SIGUSR1 and SIGUSR2, then or later, neither open an inspector nor end it", async () => {
  const world = await aWorld({ tenants: 1, config: EVERY_SECOND });
  Object.assign(world.env, whileLoading("SIGUSR1", "SIGUSR2", "SIGHUP"));
  const daemon = await aDaemon(world);
  await daemon.says("the config was read again");
  await daemon.ran(1);
  daemon.program.child.kill("SIGUSR1");
  daemon.program.child.kill("SIGUSR2");
  await daemon.ran(daemon.runs().length + 1);
  const ended = await daemon.program.stop("SIGTERM");
  expect(ended.code).toBe(0);
  expect(ended.stderr).not.toContain("Debugger");
});

// The program has one listener for both signals.
test.each(someOf(["SIGTERM", "SIGINT"] as const))(
  "a %s while the daemon is loading makes it exit with 0",
  async (signal) => {
    const world = await aWorld({ tenants: 1, config: EVERY_SECOND });
    Object.assign(world.env, whileLoading(signal));
    expect(await world.start("run").ended).toMatchObject({ code: 0, signal: null });
    expect(await world.requests()).toMatchObject({ total: 0 });
  },
);

test("any other command ends when its terminal is closed, even while it is loading", async () => {
  const world = await aWorld({ tenants: 1 });
  Object.assign(world.env, whileLoading("SIGHUP"));
  expect(await world.start("sync").ended).toMatchObject({ code: null, signal: "SIGHUP" });
});
