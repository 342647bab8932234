import { expect, onTestFinished, test } from "vitest";
import { SyncError } from "../../../src/core/failure/sync-error.ts";
import {
  type OpenService,
  type ServedTenant,
  TenantServer,
} from "../../../src/engine/serving/tenant-server.ts";
import type { Served } from "../../../src/ports/serve-tenant.ts";
import { VirtualClock, VirtualTime } from "../../fakes/virtual-time.ts";

const CREATED: ServedTenant = { served: { kind: "done", outcome: "created" } };
const UNKNOWN: ServedTenant = { served: { kind: "unknown" } };
const FAILED: ServedTenant = { served: { kind: "failed", code: "TIMEOUT", message: "no answer" } };

/** A server in a run in which looks and calls end as the test says, in virtual time. */
function aServer() {
  const clock = new VirtualClock(new VirtualTime());
  const ends: { readonly served: Served; readonly ms: number }[] = [];
  const server = new TenantServer({
    clock,
    onServed: (_, served, ms) => ends.push({ served, ms }),
    onOverflow: () => {},
  });
  const world: { end: ServedTenant; lookFails: Error | undefined; before: Promise<void> } = {
    end: CREATED,
    lookFails: undefined,
    before: Promise.resolve(),
  };
  const run: OpenService = {
    isIndexed: true,
    async serve(ids, { lookedUp, served }) {
      if (world.lookFails) throw world.lookFails;
      lookedUp();
      await world.before;
      for (const id of ids) served(id, world.end);
    },
  };
  const stop = new AbortController();
  const serving = server.serveIn(run, stop.signal);
  onTestFinished(async () => {
    stop.abort();
    await serving;
  });
  return { server, clock, world, ends };
}

test("whoever asks while the tenant is being served hears of the next lookup, which sees the newest row", async () => {
  const { server, clock, world } = aServer();
  let isThere = (): void => {};
  world.before = new Promise((resolve) => {
    isThere = resolve;
  });
  world.end = UNKNOWN;
  server.notice("a");
  await clock.sleep(100);
  const asked = server.serve("a", 10_000, new AbortController().signal);
  isThere();
  world.before = clock.sleep(100).then(() => {
    world.end = CREATED;
  });
  expect(await asked).toEqual(CREATED.served);
});

test("a tenant waits for as long as the source is away", async () => {
  const { server, clock, world, ends } = aServer();
  world.lookFails = new SyncError("SOURCE_UNAVAILABLE", "away");
  server.notice("a");
  await clock.sleep(62_000);
  expect(server.oldestMs).toBe(62_000);
  world.lookFails = undefined;
  await clock.sleep(10_000);
  expect(server.oldestMs).toBe(0);
  expect(ends.at(-1)).toEqual({ served: CREATED.served, ms: 65_000 });
});

test("a tenant whose change fails has its token so long after it was noticed, and waits for its next try alone", async () => {
  const { server, clock, world, ends } = aServer();
  world.end = FAILED;
  server.notice("a");
  await clock.sleep(62_000);
  expect(server.oldestMs).toBe(0);
  world.end = CREATED;
  await clock.sleep(10_000);
  expect(ends.at(-1)).toEqual({ served: CREATED.served, ms: 65_000 });
});
