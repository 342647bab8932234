import { test } from "vitest";
import { SMOKE } from "./installations.ts";
import { CHEAP, liveOn } from "./life.ts";

test.for(SMOKE.map((installation) => [installation.name, installation] as const))(
  "a short life on %s",
  async ([, installation], context) => {
    await liveOn(installation, context, CHEAP);
  },
);
