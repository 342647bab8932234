import { pino } from "pino";
import { expect, test } from "vitest";
import { logTo } from "../../../src/adapters/log/entry-log.ts";
import type { LogEntry } from "../../../src/ports/log.ts";

test.each<[LogEntry, object]>([
  [
    { level: "debug", message: "a detail" },
    { level: 20, msg: "a detail" },
  ],
  [
    { level: "info", message: "told to stop" },
    { level: 30, msg: "told to stop" },
  ],
  [
    { level: "warn", code: "NOTIFY_FAILED", message: "not reached", hint: "check it" },
    { level: 40, code: "NOTIFY_FAILED", hint: "check it", msg: "not reached" },
  ],
  [
    { level: "error", code: "INTERNAL", message: "50 % of %s" },
    { level: 50, code: "INTERNAL", msg: "50 % of %s" },
  ],
])("%j", (entry, line) => {
  const lines: unknown[] = [];
  const logger = pino(
    { level: "debug", base: null, timestamp: false },
    { write: (text: string) => lines.push(JSON.parse(text)) },
  );
  logTo(logger)(entry);
  expect(lines).toEqual([line]);
});
