import { expect, onTestFinished, test } from "vitest";
import { run } from "../../src/commands/run.ts";
import { SyncError } from "../../src/core/failure/sync-error.ts";
import { Lifecycle } from "../../src/daemon/lifecycle.ts";
import type { OpenedSync } from "../../src/daemon/session.ts";
import { aClock } from "../fakes/set-clock.ts";
import { anIo } from "./an-io.ts";

/** A process with a daemon in it: it can be told to stop, and to read its config again. */
function aProcess(openSync: () => Promise<OpenedSync>) {
  const { io, printed } = anIo();
  const stopping = new AbortController();
  onTestFinished(() => stopping.abort());
  const messages: string[] = [];
  const world = { reload: () => {}, quit: false };
  const settings = {
    name: "eu",
    configPath: "/etc/groupsync/config.yaml",
    schedule: { line: "0 3 * * *", timezone: "UTC", jitterMs: 0, runAtStart: true },
    notifier: { tell: async () => {}, beat: async () => {}, unreached: [] },
    listen: "off" as const,
    allowedHosts: [],
    shutdownTimeoutMs: 0,
  };
  const ports = {
    openSync,
    readLedgerSnapshot: async () => {
      throw new SyncError("LEDGER_UNAVAILABLE", "away");
    },
    timetable: () => ({ start: () => {}, stop: () => {}, next: null, after: () => null }),
    // A macrotask: all that can end has ended then.
    clock: { ...aClock(), sleep: () => new Promise<void>((resolve) => setTimeout(resolve)) },
    serving: () => null,
    observers: [],
    log: ({ message }: { message: string }) => messages.push(message),
    routes: () => ({}),
    reread: async () => ({ settings, unchecked: undefined, take: () => {} }),
  };
  const ended = run(new Lifecycle("1.2.3", settings, ports, stopping.signal), {
    ...io,
    stop: stopping.signal,
    onReload: (listener) => {
      world.reload = listener;
    },
    quit: (code) => {
      io.finish(code);
      world.quit = true;
    },
  });
  return { ended, stopping, messages, printed, world };
}

const refused = async (): Promise<OpenedSync> => {
  throw new SyncError("CONFIG_INVALID", "no key");
};

test("the daemon runs until it is told to stop, and exits with 0", async () => {
  const { ended, stopping, messages, printed, world } = aProcess(refused);
  await expect.poll(() => messages).toContain('groupsync 1.2.3 syncs eu on "0 3 * * *" UTC');
  world.reload();
  await expect.poll(() => messages).toContain("the config was read again; the next sync uses it");
  const toldToStop = expect.stringContaining("stopping: no new call starts");
  expect(messages).not.toContainEqual(toldToStop);
  stopping.abort();
  await ended;
  expect(messages.slice(-2)).toEqual([toldToStop, "stopped"]);
  expect(printed.code).toBe(0);
  expect(world.quit).toBe(true);
});

test("the daemon exits with 1 if work under way never ends", async () => {
  const { ended, stopping, messages, printed, world } = aProcess(() => new Promise(() => {}));
  await expect.poll(() => messages).toContain('groupsync 1.2.3 syncs eu on "0 3 * * *" UTC');
  stopping.abort();
  await ended;
  expect(printed.code).toBe(1);
  expect(world.quit).toBe(true);
});
