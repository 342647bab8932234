import { execFile } from "node:child_process";
import { fileURLToPath } from "node:url";
import { describe, expect, test } from "vitest";

const ESC = "\u001b";

/** What a process wrote to standard error before it was killed. */
const linesOf = (level: string, kind: "terminal" | "file"): Promise<string> =>
  new Promise((resolve) => {
    const script = fileURLToPath(new URL("lines.ts", import.meta.url));
    execFile(process.execPath, ["--import", "tsx", script, level, kind], (_, __, stderr) => resolve(stderr));
  });

describe("the log", () => {
  test("is lines of JSON, written before the process can be killed", async () => {
    const lines = (await linesOf("debug", "file")).trimEnd().split("\n");
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
      { level: "info", run: "17", outcome: "ok", unchanged: 7, created: 0 },
      { level: "error", key: "[secret]", msg: "with a secret" },
    ]);
    expect(JSON.parse(lines[0] ?? "")).toMatchObject({
      time: expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/),
    });
  });

  test("is lines in which everything is seen, with the values that they had", async () => {
    const text = await linesOf("debug", "file");
    expect(text.replaceAll("\n", "")).not.toMatch(/[\p{Cc}\p{Cf}]/u);
    const failed = text.split("\n").find((line) => line.includes("REFUSED")) ?? "";
    expect(JSON.parse(failed).user_group_id).toBe("a\u001b[2J\u001b]0;title\u0007\r\n\u009b31m\u202eb");
  });

  test.each([
    ["info", ["warn", "warn", "info", "error"]],
    ["error", ["error"]],
    ["silent", []],
  ])("at level %s", async (level, shown) => {
    const lines = (await linesOf(level, "file")).split("\n").filter((line) => line !== "");
    expect(lines.map((line) => JSON.parse(line).level)).toEqual(shown);
  });

  test("is readable on a terminal, which nothing in it takes over", async () => {
    const text = await linesOf("debug", "terminal");
    expect(text).toContain("the ledger is empty");
    expect(text).toContain("check ledger.url");
    expect(text).not.toContain("hunter2");
    const colour = new RegExp(`${ESC}\\[[\\d;]*m`, "g");
    expect(text.replace(colour, "")).toContain("sync ok: 7 unchanged; 0 requests in 20 ms\n[");
    expect(text.replace(colour, "").replaceAll("\n", "")).not.toMatch(/[\p{Cc}\p{Cf}]/u);
  });
});
