import { expect, test } from "vitest";
import { ServiceFailure } from "../../src/core/failure/service-failure.ts";
import { readiness } from "../../src/daemon/state/readiness.ts";
import { headlinesOf } from "../../src/daemon/status-page/headline.ts";
import { Silence } from "../../src/engine/refresh/sign-of-life.ts";
import { tenants, World } from "../fakes/world.ts";
import { Stage } from "./stage.ts";

const HOUR = 3_600_000;
const refresh = { everyMs: null, silence: new Silence() };

test("an idle daemon whose key is dead is not green after an hour, and is once the key is good", async () => {
  let isDead = false;
  const world = new World(tenants("a", "b"));
  const at = ({ when, call }: { when: string; call: string }): void => {
    const isCall = call === "getOrCreate" || call === "rotateNobody";
    if (isDead && when === "before" && isCall)
      throw new ServiceFailure("KEY_REFUSED", "HTTP 401: no such key");
  };
  const stage = new Stage(world, {}, { at }, [], { refresh });
  await stage.begin();
  isDead = true;
  await world.time.sleep(HOUR - 1_000);
  await stage.ticked();
  expect(stage.told).toEqual([]);
  await world.time.sleep(HOUR);
  await stage.ticked();
  const { state } = stage.daemon;
  expect(headlinesOf(state, world.time.now())[0]).toMatchObject({
    tone: "bad",
    sentence: "The last sync failed: HTTP 401: no such key",
  });
  expect(readiness(state, world.time.now()).isReady).toBe(false);
  expect(stage.told).toEqual([expect.stringContaining("the service fails")]);
  expect(stage.beats).toBe(2);

  isDead = false;
  await stage.ticked();
  expect(headlinesOf(stage.daemon.state, world.time.now())[0].tone).not.toBe("bad");
  expect(stage.told).toHaveLength(2);
  expect(stage.beats).toBe(3);
});
