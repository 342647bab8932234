import fc from "fast-check";
import { expect, it } from "vitest";
import { SEED } from "../support/seed.ts";
import { anyHistory } from "./any-history.ts";
import { inWords } from "./in-words.ts";
import { play } from "./play.ts";

const HISTORIES = Number(process.env.GROUPSYNC_TEST_HISTORIES ?? 3_000);
/** Names one history among those of the seed: then that one is played alone. */
const HISTORY = process.env.GROUPSYNC_TEST_HISTORY;

/** Many times what one takes on a machine with nothing else to do. */
const MS_PER_HISTORY = 200;

const what = HISTORY === undefined ? `${HISTORIES} random histories` : `history ${HISTORY}`;

it(`one sync makes good whatever ${what} have led to (GROUPSYNC_TEST_SEED=${SEED})`, {
  timeout: 120_000 + HISTORIES * MS_PER_HISTORY,
}, async () => {
  const played = await fc.check(fc.asyncProperty(anyHistory(), play), {
    seed: SEED,
    numRuns: HISTORIES,
    // Small histories come of shrinking: those that are played first are to be rich.
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
  return `\n${inWords(counterexample[0])}\n\n${String(errorInstance)}\n\nTo have it again:\n${replay}\n`;
}
