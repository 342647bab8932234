import { existsSync } from "node:fs";
import { describe, expect, test } from "vitest";
import { MAIN, startProcess } from "./program.ts";
import { aWorld } from "./world.ts";

const FULL = "/dev/full";

describe.skipIf(!existsSync(FULL))("where standard error leads to a full disk,", () => {
  const runInto = (command: string, env: Readonly<Record<string, string>>) =>
    startProcess("sh", ["-c", `exec "$0" "$1" ${command} 2>${FULL}`, process.execPath, MAIN], env).ended;

  test("a sync goes on and reports as ever", async () => {
    const world = await aWorld({ tenants: 3 });
    const { code, stdout } = await runInto("--log-level debug sync --json", world.env);
    expect(JSON.parse(stdout)).toMatchObject({ outcome: "ok", created: 3 });
    expect(code).toBe(0);
  });

  test("the exit code still tells what was wrong", async () => {
    expect(await runInto("--config /nowhere sync", {})).toMatchObject({ code: 78 });
  });
});

test.skipIf(!existsSync(FULL))(
  "a report that can't be written is an error in a line, not a stack trace",
  async () => {
    const command = `exec "$0" "$1" sandbox --help >${FULL}`;
    const { code, stderr } = await startProcess("sh", ["-c", command, process.execPath, MAIN], {}).ended;
    expect(code).toBe(1);
    expect(stderr).toMatch(/^groupsync: cannot write to standard output: ENOSPC[^\n]*\n$/);
  },
);
