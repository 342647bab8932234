import { expect, test } from "vitest";
import { freshDatabase } from "../../support/databases/fresh-database.ts";
import { aWorld, idOf, until } from "../world.ts";
import { aDaemon, EVERY_SECOND } from "./a-daemon.ts";
import { passSinceAnswer } from "./pass-time.ts";

test("an idle daemon asks for one group after an hour, and stores the token that somebody else has given it", async () => {
  const world = await aWorld({ database: await freshDatabase(), tenants: 1, config: EVERY_SECOND });
  const daemon = await aDaemon(world);
  await daemon.ran(2);
  await world.call("POST", { current_token: (await world.live())[idOf(1)] });
  await world.forgetRequests();
  await daemon.ran(daemon.runs().length + 2);
  expect(await world.requests()).toMatchObject({ total: 0 });

  await passSinceAnswer(world);
  await until(async () => (await world.requests()).total === 1);
  await daemon.ran(daemon.runs().length + 2);
  expect(await world.requests()).toMatchObject({ total: 1 });
  expect(await world.stored()).toEqual(await world.live());
  expect((await world.status()).service.answered_at).toMatch(/^20/);
});
