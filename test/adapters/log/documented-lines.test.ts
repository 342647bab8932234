import { pino } from "pino";
import { expect, test } from "vitest";
import { runLog } from "../../../src/adapters/log/run-log.ts";
import { noCounts } from "../../../src/core/report/counts.ts";
import type { RunEvent } from "../../../src/ports/observer.ts";
import { aRunSummary } from "../../builders/daemon-state.ts";
import { aClock } from "../../fakes/set-clock.ts";
import { pageText } from "../../support/pages.ts";

const page = pageText("docs/observe.md");
const [, block = ""] = /^```json\n(.+?)^```/ms.exec(page) ?? [];
/** The lines that the page shows. */
const documented = block
  .trim()
  .split("\n")
  .map((line) => JSON.parse(line));
const [failed, deleted, end] = documented;

/** What the page's run did. */
const EVENTS: readonly RunEvent[] = [
  { kind: "started", run: "3" },
  {
    kind: "failed",
    user_group_id: failed.user_group_id,
    code: "REFUSED",
    message: failed.msg.replace("failed: ", ""),
  },
  { kind: "deleted", user_group_id: deleted.user_group_id, absence: "absent" },
  {
    kind: "finished",
    ...aRunSummary({
      outcome: "partial",
      counts: { ...noCounts(), deleted: 1, rejected: 1, failed: 2 },
      requests: 3,
      durationMs: 195,
    }),
  },
];

test("the log has the lines that docs/observe.md shows", () => {
  const lines: object[] = [];
  const formatters = { level: (level: string) => ({ level }) };
  const logger = pino(
    { base: null, timestamp: false, formatters },
    { write: (l: string) => lines.push(JSON.parse(l)) },
  );
  const observe = runLog(logger, aClock(), () => ({ next: end.next }));
  for (const event of EVENTS) observe(event);
  expect(lines).toEqual(documented.map(({ time: _, ...line }) => line));
});

test("docs/observe.md explains every field of them", () => {
  const [, first = "", last = ""] = /^\| `(\w+)` … `(\w+)`, `requests`/m.exec(page) ?? [];
  const counts = Object.keys(noCounts());
  const range = counts.slice(counts.indexOf(first), counts.indexOf(last) + 1);
  const explained = [...page.matchAll(/^\| ((?:`\w+`(?:, | … )?)+) \|/gm)].flatMap(([, cell = ""]) =>
    [...cell.matchAll(/`(\w+)`/g)].map(([, name]) => name),
  );
  const fields = new Set(documented.flatMap((line) => Object.keys(line)));
  expect([...fields].filter((field) => !explained.includes(field) && !range.includes(field))).toEqual([]);
});
