import { mkdirSync, symlinkSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { expect, test } from "vitest";
import { type Ended, MAIN, startProcess } from "../e2e/program.ts";
import { aWorld } from "../e2e/world.ts";
import { pageText } from "../support/pages.ts";

const SCRIPT = "examples/ci/groups.sh";

/** Runs the script as it stands, with a customer who has this warehouse. */
async function ended(warehouse: string | null): Promise<Ended> {
  const { database, folder } = await aWorld({ tenants: 2 });
  await database.query(
    "INSERT INTO customers (id, company_name, warehouse) VALUES ('cus-1001', 'Fern', $1)",
    [warehouse],
  );
  const bin = join(folder, "bin");
  mkdirSync(bin);
  symlinkSync(MAIN, join(bin, "groupsync"));
  const path = fileURLToPath(new URL(`../../${SCRIPT}`, import.meta.url));
  const PATH = `${bin}:${process.env.PATH}`;
  return startProcess("sh", [path], { PATH, TMPDIR: folder, DATABASE_URL: database.url }).ended;
}

test("the script for an adopter's CI succeeds if the group is right", async () => {
  expect((await ended("eu-1")).code).toBe(0);
  expect(pageText(SCRIPT).split("\n").length).toBeLessThan(30);
});

test.each([
  ["a wrong group", "eu-2", 1, "'eu-2'"],
  ["a rejected row", null, 3, "VALUE_NULL"],
])("the script for an adopter's CI fails for %s", async (_, warehouse, code, says) => {
  const { stderr, ...rest } = await ended(warehouse);
  expect(rest.code).toBe(code);
  expect(stderr).toContain(says);
});
