import { expect, it } from "vitest";
import { ServiceFailure } from "../../../src/core/failure/service-failure.ts";
import type { RunReport } from "../../../src/engine/report/run-report.ts";
import type { RotationSelection } from "../../../src/engine/rotation/rotation-selection.ts";
import type { Point } from "../../fakes/instance.ts";
import { type StartOptions, tenants, World } from "../../fakes/world.ts";

const ALL: RotationSelection = { kind: "all" };

async function rotate(world: World, selection = ALL, options: StartOptions = {}): Promise<RunReport> {
  const report = await world.startRotation(selection, options).report;
  if (report === "died") throw new Error("it died");
  return report;
}

it("a rotation with an empty ledger and stored tokens is refused", async () => {
  const world = new World(tenants("a", "b"));
  await world.sync();
  world.ledger.clear();
  const { report } = world.startRotation({ kind: "all" });
  expect(await report).toMatchObject({ outcome: "failed", error: { code: "LEDGER_EMPTY" } });
});

it("a ledger with intents only is not taken for empty", async () => {
  const world = new World(tenants("a"));
  const first = world.start({
    at: ({ when, call }) => {
      if (when === "after" && call === "writeTokens") first.instance.kill();
    },
  });
  expect(await first.report).toBe("died");
  expect(world.store.tokens.size).toBe(1);
  const refused = ({ when, call }: Point): void => {
    if (when === "before" && call === "getOrCreate")
      throw new ServiceFailure("REFUSED", "GET was answered HTTP 422");
  };
  const sync = world.start({ at: refused });
  await sync.report;
  expect(sync.events).not.toContainEqual(expect.objectContaining({ code: "LEDGER_EMPTY" }));
  expect(await rotate(world, ALL, { at: refused })).toMatchObject({
    outcome: "partial",
    errors: [{ user_group_id: "a" }],
  });
});
