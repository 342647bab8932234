import { expect, test } from "vitest";
import { ServiceFailure } from "../../src/core/failure/service-failure.ts";
import { incidentsOfState } from "../../src/core/report/incidents.ts";
import { readiness } from "../../src/daemon/pages.ts";
import { Silence } from "../../src/engine/refresh/sign-of-life.ts";
import type { Point } from "../fakes/instance.ts";
import { tenants, World } from "../fakes/world.ts";
import { Stage } from "./stage.ts";

const HOUR = 3_600_000;
const refresh = { everyMs: null, silence: new Silence() };

const refuseKey = ({ when, call }: Point): void => {
  if (when === "before" && (call === "getOrCreate" || call === "rotateNobody"))
    throw new ServiceFailure("KEY_REFUSED", "HTTP 401: no such key");
};

test("an idle daemon whose key is dead is not green after an hour, and is once the key is good", async () => {
  let isDead = false;
  const world = new World(tenants("a", "b"));
  const at = (point: Point): void => (isDead ? refuseKey(point) : undefined);
  const stage = new Stage(world, {}, { at }, [], { refresh });
  await stage.begin();
  isDead = true;
  await world.time.sleep(HOUR - 1_000);
  await stage.scheduledRun();
  expect(stage.told).toEqual([]);
  await world.time.sleep(HOUR);
  await stage.scheduledRun();
  const { state } = stage.daemon;
  expect(incidentsOfState(state, world.time.now())[0]).toMatchObject({
    tone: "bad",
    sentence: "The last sync failed: HTTP 401: no such key",
  });
  expect(readiness(state, world.time.now()).isReady).toBe(false);
  expect(stage.told).toEqual([expect.stringContaining("The last sync failed: ")]);
  expect(stage.beats).toBe(2);

  isDead = false;
  await world.time.sleep(1_000);
  await stage.scheduledRun();
  expect(incidentsOfState(stage.daemon.state, world.time.now())).toEqual([]);
  expect(stage.told).toHaveLength(2);
  expect(stage.beats).toBe(3);
});

test("a failure of the service lasts until its next good answer, whatever syncs have nothing to send", async () => {
  let isDead = false;
  const world = new World(tenants("a"));
  const at = (point: Point): void => (isDead ? refuseKey(point) : undefined);
  const aDaemon = async (): Promise<Stage> => {
    const stage = new Stage(world, {}, { at }, [], { refresh: { everyMs: null, silence: new Silence() } });
    await stage.begin();
    return stage;
  };
  const problemsNow = ({ daemon }: Stage) =>
    incidentsOfState(daemon.state, world.time.now()).map(({ kind, tone, sentence }) => ({
      kind,
      tone,
      sentence,
    }));
  const stage = await aDaemon();
  isDead = true;
  world.tenants.push(...tenants("b"));
  await world.time.sleep(1_000);
  await stage.scheduledRun();
  world.tenants.pop();
  for (let count = 0; count < 11; count++) {
    await world.time.sleep(60_000);
    await stage.scheduledRun();
    expect(world.ledger.runs[0]?.result).toMatchObject({ outcome: "ok", requests: 0 });
    expect(problemsNow(stage)).toEqual([UNANSWERED]);
  }
  expect(readiness(stage.daemon.state, world.time.now()).reason).toContain(
    "\nThe service made a sync fail, and has given no good answer since: KEY_REFUSED",
  );
  expect(stage.told).toEqual([expect.stringContaining("The last sync failed: KEY_REFUSED")]);
  expect(stage.beats).toBe(1);
  stage.stopping.abort();

  const next = await aDaemon();
  expect(problemsNow(next)).toEqual([UNANSWERED]);
  isDead = false;
  await world.time.sleep(HOUR);
  await next.scheduledRun();
  expect(problemsNow(next)).toEqual([]);
  expect(next.told).toEqual([
    expect.stringMatching(/^groupsync eu: recovered\. Over: The service made a sync fail/),
  ]);
  expect([stage.told.length, stage.beats, next.beats]).toEqual([1, 1, 1]);
});
const UNANSWERED = {
  kind: "failed",
  tone: "bad",
  sentence: "The service made a sync fail, and has given no good answer since: HTTP 401: no such key",
};

test.each([
  ["knows when", false],
  ["has never been told when", true],
])(
  "a daemon whose key may be dead is never all well if it %s the service answered last",
  async (_, isUntold) => {
    const world = new World(tenants("a"));
    let isDead = false;
    const at = ({ when, call }: { when: string; call: string }): void => {
      if (!isDead || when !== "before") return;
      if (call === "rotateNobody") throw new ServiceFailure("KEY_REFUSED", "HTTP 401: the key was revoked");
      if (call === "getWithWrongKey") throw new ServiceFailure("KEY_REFUSED", "HTTP 401: no such key");
    };
    if (isUntold) {
      await world.sync();
      world.ledger.service = { ...world.ledger.service, answeredAt: null };
      isDead = true;
    }
    const settings = { refresh: { everyMs: null, silence: new Silence() }, update: "never" } as const;
    const stage = new Stage(world, {}, { at }, [], settings);
    const shown = () => {
      const { state } = stage.daemon;
      return [
        incidentsOfState(state, world.time.now())[0]?.sentence ?? "",
        readiness(state, world.time.now()).reason,
      ];
    };
    await stage.begin();
    isDead = true;
    for (const well of [true, true, true, false, false]) {
      expect(shown()).toEqual(
        Array(2).fill(well ? expect.not.stringMatching(SILENT) : expect.stringMatching(SILENT)),
      );
      await world.time.sleep(HOUR);
      await stage.scheduledRun();
    }
  },
);
const SILENT = /the service has given no good answer for \d h/;
