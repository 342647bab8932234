import { expect } from "vitest";
import { type FreshDatabase, type Query, SERVERS } from "../../support/databases/fresh-database.ts";
import type { Program } from "../program.ts";
import { type ConfigChanges, until, type World } from "../world.ts";

/** Groups whose tenants are gone are deleted at once. */
export const AT_ONCE: ConfigChanges = {
  deletion: { grace_period: "0", limit: { count: 100, percent: 100 } },
};

/** What runs while the database loses commits. */
export const ARGS = { rotate: ["rotate", "--all", "--yes", "--json"], sync: ["sync", "--json"] };

/** Connects for each statement: the url may lead to another server by then, or to one that was started again. */
export const asking =
  (kind: FreshDatabase["kind"], url: string): Query =>
  async (text, values) => {
    const { query, end } = SERVERS[kind].connect(url);
    return query<never>(text, values).finally(end);
  };

/** Resolves once the service has answered so many requests, or the run has ended. */
export const untilRequests = (world: World, count: number, run: Program): Promise<unknown> =>
  Promise.race([run.ended, until(async () => (await world.requests()).total >= count)]);

/** The next sync ends well, and then this number of groups is there, and every token that is stored is live. */
export async function expectHealed(world: World, groups: number, ...args: string[]): Promise<void> {
  const { code, report, stderr } = await world.sync(...args);
  expect({ code, report, stderr }).toMatchObject({ code: 0, report: { outcome: "ok", failed: 0 } });
  expect(await world.stored()).toEqual(await world.live());
  expect(await world.groups()).toHaveLength(groups);
  await world.forgetRequests();
  expect(await world.sync()).toMatchObject({ code: 0, report: { requests: 0 } });
}
