import { expect, test } from "vitest";
import { aDaemon, EVERY_SECOND } from "./a-daemon.ts";
import { aWorld } from "./world.ts";

/** Has the program send itself this signal while it is being loaded: when the first package is looked for. */
function whileLoading(signal: NodeJS.Signals): Record<string, string> {
  const hooks = `
    let sent = false;
    export async function resolve(name, context, next) {
      if (name === "commander" && !sent) {
        sent = true;
        process.kill(process.pid, "${signal}");
      }
      return next(name, context);
    }`;
  const loader = `import { register } from "node:module"; register(${JSON.stringify(asModule(hooks))});`;
  return { NODE_OPTIONS: `--import=${asModule(loader)}` };
}

const asModule = (code: string): string => `data:text/javascript,${encodeURIComponent(code)}`;

test("a SIGHUP that comes while the daemon is loaded, as of a closed terminal, is a reload once it has begun", async () => {
  const world = await aWorld({ tenants: 1, config: EVERY_SECOND });
  Object.assign(world.env, whileLoading("SIGHUP"));
  const daemon = await aDaemon(world);
  await daemon.says("the config was read again");
  await daemon.ran(1);
  expect((await daemon.program.stop("SIGTERM")).code).toBe(0);
});

test.each(["SIGTERM", "SIGINT"] as const)(
  "a %s that comes while the daemon is loaded ends it well",
  async (signal) => {
    const world = await aWorld({ tenants: 1, config: EVERY_SECOND });
    Object.assign(world.env, whileLoading(signal));
    expect(await world.start("run").ended).toMatchObject({ code: 0, signal: null });
    expect(await world.requests()).toMatchObject({ total: 0 });
  },
);

test("any other command ends when its terminal is closed, also while it is loaded", async () => {
  const world = await aWorld({ tenants: 1 });
  Object.assign(world.env, whileLoading("SIGHUP"));
  expect(await world.start("sync").ended).toMatchObject({ code: null, signal: "SIGHUP" });
});

test.each(["SIGUSR1", "SIGUSR2"] as const)(
  "a %s opens no inspector and ends nothing, while the daemon is loaded and later",
  async (signal) => {
    const world = await aWorld({ tenants: 1, config: EVERY_SECOND });
    Object.assign(world.env, whileLoading(signal));
    const daemon = await aDaemon(world);
    await daemon.ran(1);
    daemon.program.child.kill(signal);
    await daemon.ran(2);
    const ended = await daemon.program.stop("SIGTERM");
    expect(ended.code).toBe(0);
    expect(ended.stderr).not.toContain("Debugger");
  },
);
