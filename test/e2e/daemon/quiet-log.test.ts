import { expect, test } from "vitest";
import { aWorld, until } from "../world.ts";
import { aDaemon, EVERY_SECOND } from "./a-daemon.ts";

/** Syncs of a day with a `schedule` of every five minutes. */
const SYNCS_A_DAY = 288;
const MEASURED = 3;

test("a quiet day of a sync every five minutes is less than 60 KB of log", async () => {
  const world = await aWorld({ tenants: 20, config: EVERY_SECOND });
  const daemon = await aDaemon(world);
  // A loaded machine may have other syncs before.
  const quietRuns = () =>
    daemon.runs().filter(({ outcome, unchanged }) => outcome === "ok" && unchanged === 20);
  await until(() => quietRuns().length > MEASURED);
  const measured = quietRuns()
    .slice(0, MEASURED)
    .map(({ run }) => run);
  const written = daemon.program.output().split("\n");
  const quiet = written.filter((line) => line.startsWith("{") && measured.includes(JSON.parse(line).run));
  const bytes = Buffer.byteLength(quiet.map((line) => `${line}\n`).join(""));
  expect((bytes / MEASURED) * SYNCS_A_DAY).toBeLessThan(60_000);
});
