import { relative } from "node:path";
import { BaseSequencer, type TestSpecification } from "vitest/node";

/** Files that run for longer than half a minute. Beginning last, each would keep one core busy and the other idle. */
const LONGEST = [
  "test/simulation/simulation.test.ts",
  "test/adapters/sql/ledger/ledger.test.ts",
  "test/e2e/crash/hand-over.test.ts",
  "test/e2e/output/leaks.test.ts",
  "test/e2e/daemon/new-tenant-faults.test.ts",
  "test/e2e/daemon/daemon-end.test.ts",
  "test/e2e/daemon/daemon.test.ts",
  "test/e2e/probe/probe.test.ts",
  "test/adapters/token-stores/aws-store.test.ts",
];

/** Begins with the longest files, one project after the other. Vitest would begin with the files that have the most text. */
export class LongestFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const rank = ({ moduleId }: TestSpecification): number => {
      const position = LONGEST.indexOf(relative(this.ctx.config.root, moduleId));
      return position === -1 ? LONGEST.length : position;
    };
    const sorted = (await super.sort(files)).toSorted((a, b) => rank(a) - rank(b));
    // A worker runs the files of one project.
    const projects = [...new Set(sorted.map(({ project }) => project))];
    return projects.flatMap((project) => sorted.filter((file) => file.project === project));
  }
}
