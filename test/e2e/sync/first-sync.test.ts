import { expect, test } from "vitest";
import { freshDatabase } from "../../support/databases/fresh-database.ts";
import { LONG } from "../../support/long.ts";
import { aWorld } from "../world.ts";

/** More than one batch of rows. */
const TENANTS = LONG ? 10_000 : 2_500;

test(`a first sync sends one request for each of ${TENANTS} tenants, and a second sync sends none`, async () => {
  const world = await aWorld({ database: await freshDatabase(), tenants: TENANTS });

  const first = await world.sync();
  expect(first.code).toBe(0);
  expect(first.report).toEqual({
    outcome: "ok",
    created: TENANTS,
    adopted: 0,
    updated: 0,
    replaced: 0,
    unverified: 0,
    unchanged: 0,
    outdated: 0,
    missing: 0,
    not_ready: 0,
    deleted: 0,
    rotated: 0,
    wanted: 0,
    refreshed: 0,
    drift: { token: 0, gone: 0, name: 0 },
    restored: 0,
    held: 0,
    rejected: 0,
    failed: 0,
    requests: TENANTS,
    duration_ms: expect.any(Number),
    held_code: null,
    held_groups: [],
    refresh_held_code: null,
    errors: [],
  });
  const { total, by_operation, by_group } = await world.requests();
  expect({ total, by_operation }).toEqual({
    total: TENANTS,
    by_operation: { GET: { 200: TENANTS }, POST: {}, DELETE: {}, other: {} },
  });
  expect(Object.keys(by_group)).toHaveLength(TENANTS);
  expect(await world.stored()).toEqual(await world.live());

  await world.forgetRequests();
  const second = await world.sync();
  expect(second.code).toBe(0);
  expect(second.report).toMatchObject({ outcome: "ok", created: 0, unchanged: TENANTS, requests: 0 });
  expect(await world.requests()).toMatchObject({ total: 0 });
});
