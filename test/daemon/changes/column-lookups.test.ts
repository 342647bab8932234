import fc from "fast-check";
import { expect, test } from "vitest";
import { MOST_AHEAD_MS } from "../../../src/core/changes/change-window.ts";
import type { Notice } from "../../../src/core/changes/notice.ts";
import { ColumnLooks } from "../../../src/daemon/changes/column-lookups.ts";
import type { ChangeReader } from "../../../src/ports/change-feed.ts";
import { aColumn, type Version } from "../../fakes/change-column.ts";
import { aClock } from "../../fakes/set-clock.ts";
import { rounds } from "../../support/long.ts";

const MINUTE = 60_000;
const START = 2 * MINUTE;
const FAR = 9e14;

/** The ids that looks at these times notice, or "anything". */
async function* looksAt(
  versions: readonly Version[],
  unit: number,
  times: readonly number[],
): AsyncGenerator<{ readonly at: number; readonly ids: readonly string[] }> {
  const clock = aClock();
  const column = aColumn(versions, unit);
  const reader: ChangeReader = {
    type: "bigint",
    newest: async (below) => column.newest(clock.elapsed, below),
    rows: async (from, limit, below) => column.rows(from, clock.elapsed, limit, below),
    missingIndex: async () => null,
    close: async () => {},
  };
  const looks = new ColumnLooks(clock);
  const idOf = (notice: Notice): string => (notice.kind === "tenant" ? notice.user_group_id : notice.kind);
  for (const at of times) {
    clock.elapsed = at;
    yield { at, ids: (await looks.look(reader)).map(idOf) };
  }
}

const aVersion = fc
  .record({
    id: fc.constantFrom("a", "b", "c", "d"),
    given: fc.nat(12 * MINUTE),
    ahead: fc.integer({ min: -5_000, max: MOST_AHEAD_MS }),
    delay: fc.nat(53_000),
  })
  .map(({ delay, ...version }) => ({ ...version, committed: version.given + delay }));

/** A row with a value that is far beyond all others, from some time on, and up to some time or for ever. */
const aFarVersion = fc
  .record({
    given: fc.nat(12 * MINUTE),
    stands: fc.option(fc.nat(12 * MINUTE), { nil: Number.POSITIVE_INFINITY }),
  })
  .map(({ given, stands }) => ({ id: "far", given, value: FAR, committed: given, deleted: given + stands }));

const pauses = fc.array(
  fc.oneof(fc.integer({ min: 100, max: 2_000 }), fc.integer({ min: 100, max: 3 * MINUTE })),
  { minLength: 1, maxLength: 80 },
);

test("each row is noticed by the first look after its commit, though one value may be far beyond it", async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.array(aVersion, { maxLength: 30 }),
      aFarVersion,
      pauses,
      fc.constantFrom(1, 1_000),
      async (versions, far, between, unit) => {
        const times = [START];
        for (const pause of [...between, 10 * MINUTE]) times.push((times.at(-1) ?? 0) + pause);
        let before = START;
        for await (const { at, ids } of looksAt([...versions, far], unit, times)) {
          const committed = versions.filter(({ committed }) => before < committed && committed <= at);
          const last = new Set(committed.map(({ id }) => id));
          if (!ids.includes("anything")) expect(ids).toEqual(expect.arrayContaining([...last]));
          before = at;
        }
      },
    ),
    { numRuns: rounds(2_000) },
  );
});
