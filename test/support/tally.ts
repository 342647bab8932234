import type { Reporter, TestModule } from "vitest/node";

export interface Tally {
  passed: number;
  failed: number;
  skipped: number;
}

/** Prints the last line of a run, for programs: `N passed, N failed`, and `, N skipped` if tests were skipped. */
export const tally: Reporter = {
  onTestRunEnd(modules, unhandledErrors, reason) {
    // A run that could not begin, for want of a server or of tests, has failed with neither tests nor errors.
    const couldNotBegin = reason === "failed" && modules.length === 0;
    const errors = unhandledErrors.length || (couldNotBegin ? 1 : 0);
    console.log(`\n${tallyLine(modules.map(tallyOf), errors)}`);
  },
};

/** An error outside of every test fails the run, so it counts as a failure. */
export function tallyLine(tallies: readonly Tally[], unhandledErrors: number): string {
  const total = (key: keyof Tally): number => tallies.reduce((sum, one) => sum + one[key], 0);
  const skipped = total("skipped");
  return `${total("passed")} passed, ${total("failed") + unhandledErrors} failed${skipped ? `, ${skipped} skipped` : ""}`;
}

function tallyOf(module: TestModule): Tally {
  const tally: Tally = { passed: 0, failed: 0, skipped: 0 };
  for (const test of module.children.allTests()) {
    const { state } = test.result();
    tally[state === "pending" ? "skipped" : state]++;
  }
  // A file that can't be loaded, or whose beforeAll throws, has errors and perhaps no failed test.
  if (module.state() === "failed" && tally.failed === 0) tally.failed = 1;
  return tally;
}
