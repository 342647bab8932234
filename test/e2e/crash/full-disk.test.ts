import { existsSync } from "node:fs";
import { expect, test } from "vitest";
import { MAIN, startProcess } from "../program.ts";
import { aWorld, idOf } from "../world.ts";

const FULL = "/dev/full";

/** Runs the program in a shell, which leads its output elsewhere. */
const runInShell = (command: string, env: Readonly<Record<string, string>> = {}) =>
  startProcess("sh", ["-c", `exec "$0" "$1" ${command}`, process.execPath, MAIN], env).ended;

test.skipIf(!existsSync(FULL))(
  "if standard error leads to a full disk, a sync continues, prints its report, and its exit code says what went wrong",
  async () => {
    const world = await aWorld({ tenants: 3 });
    await world.database.query("UPDATE customers SET company_name = NULL WHERE id = $1", [idOf(3)]);
    const { code, stdout } = await runInShell(`--log-level debug sync --json 2>${FULL}`, world.env);
    expect(JSON.parse(stdout)).toMatchObject({ outcome: "partial", created: 2, rejected: 1 });
    expect(code).toBe(3);
  },
);

test.skipIf(!existsSync(FULL))(
  "a report that can't be written is an error of one line, without a stack trace",
  async () => {
    const { code, stderr } = await runInShell(`sandbox --help >${FULL}`);
    expect(code).toBe(1);
    expect(stderr).toMatch(/^groupsync: cannot write to standard output: ENOSPC[^\n]*\n$/);
  },
);
