import { expect, test } from "vitest";
import { planCommand } from "../../src/commands/plan.ts";
import type { RotationPolicy } from "../../src/core/rotation.ts";
import { ServiceFailure } from "../../src/core/service-failure.ts";
import { someRules } from "../builders/rules.ts";
import { Instance } from "../fakes/instance.ts";
import { VirtualClock } from "../fakes/virtual-time.ts";
import { tenants, World } from "../fakes/world.ts";
import { anIo, type Printed } from "./an-io.ts";

const HOUR = 3_600_000;
const rules = someRules();
const ROTATION: RotationPolicy = { maxAgeMs: HOUR, window: null, maxPerRun: null, concurrency: 1 };

async function plan(world: World, rotation: RotationPolicy, tokenPlaces = ["here"]): Promise<Printed> {
  const { io, printed } = anIo();
  const { source, ledger, openSpool } = world.ports(new Instance(), new VirtualClock(world.time));
  const settings = {
    rules,
    update: "upsert",
    deletion: { when: "absent", gracePeriodMs: 0, limit: { count: 9, percent: 9 } },
    source: "customers",
  } as const;
  const open = async () => ({
    value: {
      ports: { source, ledger, openSpool },
      settings,
      rotation,
      tokenPlaces,
      now: () => world.time.now(),
    },
    close: async () => {},
  });
  await planCommand(io, open).parseAsync(["--detailed-exitcode"], { from: "user" });
  return printed;
}

const detailedExitCode = async (world: World, rotation: RotationPolicy): Promise<number> =>
  (await plan(world, rotation)).code;

test("tokens that go to another place than before are something to do", async () => {
  const world = new World(tenants("a"));
  await world.sync({ settings: { rules } });
  const rotation = { ...ROTATION, maxAgeMs: null };
  const elsewhere = ["elsewhere"];
  const lacking = {
    code: 2,
    stdout: expect.stringMatching(/^Nothing to do: .*\nTokens may be missing: .* in elsewhere, and/),
  };
  expect(await plan(world, rotation, elsewhere)).toMatchObject(lacking);
  // Some of them are there by now, and nobody has looked for the others.
  await world.startRotation({ kind: "all" }, { settings: { tokenPlaces: elsewhere } }).report;
  expect(await plan(world, rotation, elsewhere)).toMatchObject(lacking);
  await world.sync({ settings: { rules, tokenPlaces: elsewhere } });
  expect(await plan(world, rotation, elsewhere)).toMatchObject({ code: 0 });
});

test("--detailed-exitcode: a token that is due now is a pending change, and one that waits is none", async () => {
  const world = new World(tenants("a"));
  await world.sync({ settings: { rules } });
  expect(await detailedExitCode(world, ROTATION)).toBe(0);
  await world.time.sleep(HOUR);
  expect(await detailedExitCode(world, ROTATION)).toBe(2);
  const window = { from: 600, to: 660, timeZone: "UTC" };
  expect(await detailedExitCode(world, { ...ROTATION, window })).toBe(0);

  const refuse = ({ call, when }: { call: string; when: string }): void => {
    if (call === "rotate" && when === "before") throw new ServiceFailure("REFUSED", "success is 0");
  };
  for (let times = 0; times < 3; times++) {
    await world.sync({ settings: { rules, rotation: ROTATION }, at: refuse });
  }
  // As a sync would end: one group is failing.
  expect(await detailedExitCode(world, ROTATION)).toBe(3);
});
