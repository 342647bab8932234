import fc from "fast-check";
import { expect, it } from "vitest";
import { SEED } from "../support/databases/seed.ts";
import { LONG } from "../support/long.ts";
import { arbitraryHistory } from "./arbitrary-history.ts";
import type { History } from "./history.ts";
import { play } from "./play.ts";

const HISTORIES = Number(process.env.GROUPSYNC_TEST_HISTORIES ?? (LONG ? 100_000 : 200));
/** The path of one history of the seed, to play this history alone. */
const HISTORY = process.env.GROUPSYNC_TEST_HISTORY;

/** Many times what a history takes on an idle machine. */
const MS_PER_HISTORY = 200;

const what = HISTORY === undefined ? `${HISTORIES} random histories` : `history ${HISTORY}`;

it(`after ${what}, one sync restores every guarantee (GROUPSYNC_TEST_SEED=${SEED})`, {
  timeout: 120_000 + HISTORIES * MS_PER_HISTORY,
}, async () => {
  const played = await fc.check(fc.asyncProperty(arbitraryHistory(), play), {
    seed: SEED,
    numRuns: HISTORIES,
    // Play rich histories from the start: shrinking makes small ones.
    unbiased: true,
    ...(HISTORY === undefined ? {} : { path: HISTORY }),
  });
  if (played.failed) throw new Error(failure(played));
  if (HISTORY === undefined) expect(played.numRuns).toBe(HISTORIES);
});

function failure({
  counterexample,
  counterexamplePath,
  errorInstance,
}: fc.RunDetails<[Parameters<typeof play>[0]]>): string {
  if (counterexample === null) return "";
  const replay = `GROUPSYNC_TEST_SEED=${SEED} GROUPSYNC_TEST_HISTORY=${counterexamplePath} npx vitest run test/simulation`;
  return `\n${inLines(counterexample[0])}\n\n${String(errorInstance)}\n\nTo play it again:\n${replay}\n`;
}

/** The history as JSON: its circumstances, then each step on a line of its own. */
function inLines({ steps, ...circumstances }: History): string {
  const inJson = (value: unknown): string =>
    JSON.stringify(value, (_, part) => (part instanceof Set ? [...part] : part));
  return [circumstances, ...steps].map(inJson).join("\n");
}
