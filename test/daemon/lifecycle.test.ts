import { describe, expect, onTestFinished, test } from "vitest";
import { SyncError } from "../../src/core/failure/sync-error.ts";
import { Secret } from "../../src/core/secret/secret.ts";
import { plain, type Routes } from "../../src/daemon/http/routes.ts";
import { Lifecycle, type LifecycleSettings } from "../../src/daemon/lifecycle.ts";
import type { OpenedSync } from "../../src/daemon/session.ts";
import type { LogEntry } from "../../src/ports/log.ts";
import { aClock } from "../fakes/set-clock.ts";
import { ask } from "./http/client.ts";

const ANY_PORT = { host: "127.0.0.1", port: 0 };

const someSettings = (overrides: Partial<LifecycleSettings> = {}): LifecycleSettings => ({
  name: "eu",
  configPath: "/etc/groupsync/config.yaml",
  docsUrl: null,
  schedule: { line: "*/5 * * * *", timezone: "UTC", jitterMs: 0, runAtStart: false },
  notifier: { tell: async () => {}, beat: async () => {}, unreached: [], reachedAt: {} },
  listen: "off",
  allowedHosts: [],
  shutdownTimeoutMs: 25_000,
  ...overrides,
});

/** However long: there is time enough. */
const untilAborted = (_: number, signal?: AbortSignal): Promise<void> =>
  new Promise((resolve) => signal?.addEventListener("abort", () => resolve()));

/** A daemon that is not to sync by itself, and what happens around it. */
function aLifecycle(overrides: Partial<LifecycleSettings> = {}) {
  const stopping = new AbortController();
  const events: string[] = [];
  const log: LogEntry[] = [];
  const world = {
    /** What is read when the config is read again. */
    reread: (): LifecycleSettings => someSettings(overrides),
    unchecked: undefined as SyncError | undefined,
    open: async (): Promise<OpenedSync> => {
      throw new SyncError("CONFIG_INVALID", "no key");
    },
    clock: { ...aClock(), sleep: untilAborted },
    routes: (_: Secret | undefined): Routes => ({
      "/healthz": { page: () => plain(200, "ok"), forAnyHost: true },
    }),
  };
  const lifecycle = new Lifecycle(
    "1.2.3",
    someSettings(overrides),
    {
      openSync: () => world.open(),
      readLedger: async () => {
        throw new SyncError("LEDGER_UNAVAILABLE", "away");
      },
      timetable: ({ line }) => ({
        start: () => events.push(`start ${line}`),
        stop: () => events.push(`stop ${line}`),
        next: new Date("2026-03-01T12:05:00Z"),
        after: () => null,
      }),
      clock: world.clock,
      serving: () => null,
      observers: [],
      log: (entry) => log.push(entry),
      routes: (syncKey) => world.routes(syncKey),
      reread: async () => {
        const settings = world.reread();
        const take = () => events.push(`take ${settings.schedule.line}`);
        return { settings, take, unchecked: world.unchecked };
      },
    },
    stopping.signal,
  );
  onTestFinished(async () => {
    stopping.abort();
    await lifecycle.end();
  });
  /** Where it has told that it listens, the last one last. */
  const urls = (): string[] => log.flatMap(({ message }) => /metrics on (\S+)/.exec(message)?.[1] ?? []);
  const problems = (): LogEntry[] => log.filter(({ level }) => level === "error");
  return { lifecycle, world, stopping, events, log, urls, problems };
}

const isThere = (url: string | undefined): Promise<boolean> =>
  fetch(`${url}/healthz`).then(
    ({ ok }) => ok,
    () => false,
  );

const another = { line: "0 3 * * *", timezone: "UTC", jitterMs: 0, runAtStart: false };

describe("its beginning", () => {
  test("is told, with where it listens and when it syncs", async () => {
    const { lifecycle, log, urls } = aLifecycle({ listen: ANY_PORT });
    await lifecycle.begin();
    expect(log.filter(({ level }) => level === "info").map(({ message }) => message)).toEqual([
      `status page, probes and metrics on ${urls()[0]}`,
      'groupsync 1.2.3 syncs eu on "*/5 * * * *" UTC, next at 2026-03-01T12:05:00.000Z',
    ]);
    expect(await isThere(urls()[0])).toBe(true);
  });

  test("doesn't come once it is told to stop", async () => {
    const { lifecycle, stopping, events, urls } = aLifecycle({ listen: ANY_PORT });
    stopping.abort();
    await lifecycle.begin();
    expect(await lifecycle.end()).toBe(true);
    expect(events).toEqual([]);
    expect(await isThere(urls()[0])).toBe(false);
  });
});

describe("a config that is read again", () => {
  test("is taken, with its schedule", async () => {
    const { lifecycle, world, events, log } = aLifecycle();
    await lifecycle.begin();
    world.reread = () => someSettings({ name: "us", schedule: another });
    await lifecycle.reload();
    expect(lifecycle.daemon.state).toMatchObject({ name: "us", schedule: "0 3 * * *" });
    expect(events).toEqual(["start */5 * * * *", "take 0 3 * * *", "stop */5 * * * *", "start 0 3 * * *"]);
    expect(log.at(-1)).toEqual({
      level: "info",
      message: "the config was read again; the next sync uses it",
    });
  });

  test("is taken where its columns could not be checked, which is said", async () => {
    const { lifecycle, world, log } = aLifecycle();
    await lifecycle.begin();
    world.unchecked = new SyncError("SOURCE_UNAVAILABLE", "cannot read customers", { hint: "is it up?" });
    await lifecycle.reload();
    expect(log.slice(-2)).toEqual([
      {
        level: "warn",
        code: "SOURCE_UNAVAILABLE",
        message: "the columns of the new config could not be checked: cannot read customers",
        hint: "is it up?",
      },
      { level: "info", message: "the config was read again; the next sync uses it" },
    ]);
    expect(lifecycle.daemon.state.rejectedConfig).toBeNull();
  });

  test("that is refused is shown and told until one is taken, whatever lies in between", async () => {
    const told: string[] = [];
    const tell = async (message: string) => void told.push(message);
    const notifier = { tell, beat: async () => {}, unreached: [], reachedAt: {} };
    const { lifecycle, world } = aLifecycle({ notifier });
    await lifecycle.begin();
    expect(lifecycle.daemon.state.rejectedConfig).toBeNull();
    world.reread = () => {
      throw new SyncError("CONFIG_INVALID", "config.yaml has 1 problem:\n  line 1", { hint: "repair it" });
    };
    await lifecycle.reload();
    await lifecycle.reload();
    expect(lifecycle.daemon.state.rejectedConfig).toEqual({
      since: world.clock.now(),
      code: "CONFIG_INVALID",
      message: "config.yaml has 1 problem:\n  line 1",
      hint: "repair it",
    });
    world.reread = () => someSettings({ notifier });
    await lifecycle.reload();
    await lifecycle.reload();
    expect(lifecycle.daemon.state.rejectedConfig).toBeNull();
    expect(told).toEqual([
      "groupsync eu: Needs attention: the new config was rejected, and the old one stays in force.\nThe status page and the log say why, and what to do.",
      expect.stringMatching(/^groupsync eu: recovered. Over: Needs attention: the new config was rejected/),
    ]);
  });

  test("is refused if it names another address, which needs a restart", async () => {
    const { lifecycle, world, urls, problems } = aLifecycle({ listen: ANY_PORT });
    await lifecycle.begin();
    world.reread = () => someSettings({ listen: "off", schedule: another });
    await lifecycle.reload();
    expect(problems()).toMatchObject([{ code: "CONFIG_NEEDS_RESTART" }]);
    expect(lifecycle.daemon.state.schedule).toBe("*/5 * * * *");
    expect(urls()).toHaveLength(1);
  });

  test("may allow other names of the server", async () => {
    const { lifecycle, world, urls } = aLifecycle({ listen: ANY_PORT });
    world.routes = () => ({ "/": { page: () => plain(200, "shown") } });
    await lifecycle.begin();
    const server = { url: urls()[0] ?? "", close: async () => {} };
    const status = async () => (await ask(server, "/", { headers: { host: "groupsync.internal" } })).status;
    expect(await status()).toBe(421);
    world.reread = () => someSettings({ listen: { ...ANY_PORT }, allowedHosts: ["groupsync.internal"] });
    await lifecycle.reload();
    expect(await status()).toBe(200);
    expect(urls()).toHaveLength(1);
  });

  test("changes the key of POST /sync, also where the server stays", async () => {
    const { lifecycle, world, urls } = aLifecycle({ listen: ANY_PORT, syncKey: new Secret("first") });
    world.routes = (key) => ({ "/key": { page: () => plain(200, key?.reveal() ?? "none") } });
    const key = async (): Promise<string> => (await fetch(`${urls()[0]}/key`)).text();
    await lifecycle.begin();
    expect(await key()).toBe("first\n");
    for (const syncKey of ["second", undefined, "third"]) {
      world.reread = () =>
        someSettings({ listen: ANY_PORT, ...(syncKey && { syncKey: new Secret(syncKey) }) });
      await lifecycle.reload();
      expect(await key()).toBe(`${syncKey ?? "none"}\n`);
    }
    expect(urls()).toHaveLength(1);
  });

  test("twice at once is read one after the other", async () => {
    const { lifecycle, world, events } = aLifecycle();
    await lifecycle.begin();
    world.reread = () => someSettings({ schedule: another });
    await Promise.all([lifecycle.reload(), lifecycle.reload()]);
    expect(events.filter((event) => event.startsWith("take"))).toHaveLength(2);
    expect(events.filter((event) => event.startsWith("start"))).toHaveLength(2);
  });
});

describe("its end", () => {
  test("is in time where nothing is under way", async () => {
    const { lifecycle, stopping, events, urls, problems } = aLifecycle({ listen: ANY_PORT });
    await lifecycle.begin();
    stopping.abort();
    expect(await lifecycle.end()).toBe(true);
    expect(events).toEqual(["start */5 * * * *", "stop */5 * * * *"]);
    expect(problems()).toEqual([]);
    expect(await isThere(urls()[0])).toBe(false);
  });

  test("comes without what never ends, and says so", async () => {
    const slept: number[] = [];
    const { lifecycle, world, stopping, urls, problems } = aLifecycle({
      listen: ANY_PORT,
      shutdownTimeoutMs: 90_000,
      schedule: { ...another, runAtStart: true },
    });
    world.open = () => new Promise(() => {});
    world.clock.sleep = async (ms) => void slept.push(ms);
    await lifecycle.begin();
    await expect.poll(() => lifecycle.daemon.state.current).not.toBeNull();
    stopping.abort();
    expect(await lifecycle.end()).toBe(false);
    expect(slept).toEqual([90_000]);
    expect(problems()).toEqual([
      {
        level: "error",
        code: "SHUTDOWN_TIMEOUT",
        message:
          "work did not end within 1 min 30 s of the signal to stop: the next start settles what is under way",
        hint: expect.stringContaining("raise shutdown_timeout"),
      },
    ]);
    expect(await isThere(urls()[0])).toBe(false);
  });
});
