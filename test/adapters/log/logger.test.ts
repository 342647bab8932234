import { execFile } from "node:child_process";
import { fileURLToPath } from "node:url";
import { pino } from "pino";
import { describe, expect, test } from "vitest";
import { createLogger, logTo } from "../../../src/adapters/log/logger.ts";
import type { LogEntry, LogLevel } from "../../../src/ports/log.ts";

const ESC = "\u001b";

/** What a process writes to standard error before it is killed. */
const startProcess = (kind: "terminal" | "file"): Promise<string> =>
  new Promise((resolve) => {
    const script = fileURLToPath(new URL("lines.ts", import.meta.url));
    execFile(process.execPath, ["--import", "tsx", script, kind], (_, __, stderr) => resolve(stderr));
  });

describe("the log", () => {
  test("is lines of JSON in which everything is seen, written before the process can be killed", async () => {
    const text = await startProcess("file");
    const lines = text.trimEnd().split("\n");
    expect(lines.map((line) => JSON.parse(line))).toMatchObject([
      { level: "debug", run: "17", msg: "the run begins" },
      {
        level: "warn",
        run: "17",
        code: "LEDGER_EMPTY",
        hint: "check ledger.url",
        msg: "the ledger is empty",
      },
      { level: "warn", run: "17", code: "REFUSED" },
      { level: "info", run: "17", outcome: "ok", unchanged: 7 },
      { level: "error", key: "[secret]", msg: "with a secret" },
    ]);
    expect(JSON.parse(lines[0] ?? "")).toMatchObject({
      time: expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/),
    });
    expect(text.replaceAll("\n", "")).not.toMatch(/[\p{Cc}\p{Cf}]/u);
    const failed = text.split("\n").find((line) => line.includes("REFUSED")) ?? "";
    expect(JSON.parse(failed).user_group_id).toBe("a\u001b[2J\u001b]0;title\u0007\r\n\u009b31m\u202eb");
  });

  test.each<[LogLevel, readonly LogLevel[]]>([
    ["info", ["info", "warn", "error"]],
    ["error", ["error"]],
    ["silent", []],
  ])("at level %s", async (level, written) => {
    const logger = await createLogger(level, false);
    const levels = ["debug", "info", "warn", "error"] as const;
    expect(levels.filter((one) => logger.isLevelEnabled(one))).toEqual(written);
  });

  test("is readable on a terminal, which nothing in it takes over", async () => {
    const text = await startProcess("terminal");
    expect(text).toContain("the ledger is empty");
    expect(text).toContain("check ledger.url");
    expect(text).not.toContain("hunter2");
    const colour = new RegExp(`${ESC}\\[[\\d;]*m`, "g");
    const lines = text.replace(colour, "");
    expect(lines).toContain("WARN: run 17: the ledger is empty\n");
    expect(lines).toContain("INFO: run 17: sync ok: 7 unchanged\n[");
    expect(lines).toMatch(/WARN: run 17: a\\u001b.*b: failed: it said a.*\n {4}code: "REFUSED"\n/);
    expect(lines).toContain("ERROR: with a secret\n");
    expect(text.replace(colour, "").replaceAll("\n", "")).not.toMatch(/[\p{Cc}\p{Cf}]/u);
  });
});

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
])("logTo writes %j at its level", (entry, line) => {
  const lines: unknown[] = [];
  const logger = pino(
    { level: "debug", base: null, timestamp: false },
    { write: (text: string) => lines.push(JSON.parse(text)) },
  );
  logTo(logger)(entry);
  expect(lines).toEqual([line]);
});
