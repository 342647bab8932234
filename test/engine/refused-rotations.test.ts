import { describe, expect, it } from "vitest";
import { ServiceFailure, type ServiceFailureCode } from "../../src/core/service-failure.ts";
import type { RunReport } from "../../src/engine/report.ts";
import type { Point } from "../fakes/instance.ts";
import { type StartOptions, tenants, World } from "../fakes/world.ts";

async function rotateAll(world: World, options: StartOptions = {}): Promise<RunReport> {
  const report = await world.startRotation({ kind: "all" }, options).report;
  if (report === "died") throw new Error("it died");
  return report;
}

describe("a service that rotates nothing", () => {
  const MANY = Array.from({ length: 150 }, (_, n) => `t${String(n).padStart(3, "0")}`);

  it.each<[ServiceFailureCode, number]>([
    ["SERVICE_ERROR", 5],
    ["OVERLOADED", 5],
    ["TIMEOUT", 5],
    ["BAD_RESPONSE", 100],
    ["REFUSED", 100],
    ["KEY_REFUSED", 100],
  ])(
    "but answers every GET, is told by %s after %i tokens, in this run and in the next",
    async (code, tokens) => {
      const world = new World(tenants(...MANY));
      await world.sync();
      const at = (point: Point): void => {
        if (point.call === "rotate" && point.when === "before")
          throw new ServiceFailure(code, `POST: ${code}`);
      };
      for (let run = 0; run < 2; run++) {
        const report = await rotateAll(world, { at });
        expect(report.error).toMatchObject({ code: "SERVICE_UNAVAILABLE", cause: { code } });
        expect(report.requests).toBeLessThanOrEqual(3 * tokens);
      }
      expect(await rotateAll(world)).toMatchObject({ outcome: "ok", counts: { rotated: 150 } });
    },
  );

  it("is not one that has lost its groups, which a rotation makes again", async () => {
    const world = new World(tenants(...MANY));
    await world.sync();
    world.service.groups.clear();
    expect(await rotateAll(world)).toMatchObject({ outcome: "ok", counts: { rotated: 150 } });
  });
});
