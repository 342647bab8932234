import { dirname } from "node:path";
import { expect, test } from "vitest";
import { loadBundle } from "../../build/load-bundle.ts";
import { useAsCommandsDo } from "../../build/warm-up.ts";
import type { cli } from "../../src/cli.ts";
import { MAIN } from "../e2e/program.ts";

test("the build has V8 compile what a sync uses up to its first call", async () => {
  const program = loadBundle<{ cli: typeof cli }>(`${dirname(MAIN)}/`);
  expect(await useAsCommandsDo(program.cli)).toBe(1);
});
