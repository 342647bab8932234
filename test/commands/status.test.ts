import { expect, test } from "vitest";
import { statusCommand } from "../../src/commands/status.ts";
import { Instance } from "../fakes/instance.ts";
import { VirtualClock } from "../fakes/virtual-time.ts";
import { tenants, World } from "../fakes/world.ts";
import { anIo } from "./an-io.ts";

async function status(world: World, ...flags: string[]): Promise<string> {
  const { io, printed } = anIo();
  const { ledger } = world.ports(new Instance(), new VirtualClock(world.time));
  const open = async () => ({ value: ledger, close: async () => {} });
  await statusCommand(io, open).parseAsync(flags, { from: "user" });
  return printed.stdout;
}

test("the oldest token says since when it is live", async () => {
  const world = new World(tenants("a"));
  expect(await status(world)).toContain("\nTokens   none yet\n");
  expect(JSON.parse(await status(world, "--json"))).toMatchObject({ tokens: { oldest: null } });

  await world.sync();
  const since = world.ledger.rows.get("a")?.tokenSince?.toISOString();
  await world.time.sleep(60_000);
  world.tenants = tenants("a", "b");
  await world.sync();
  expect(await status(world)).toContain(`\nTokens   oldest from ${since}\n`);
  expect(JSON.parse(await status(world, "--json"))).toMatchObject({ tokens: { oldest: since } });
});
