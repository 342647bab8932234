import { execFileSync } from "node:child_process";
import { chmodSync, existsSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { setImmediate as nextTurn, setTimeout as sleep } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { describe, expect, test } from "vitest";
import { makeFolder } from "../../../src/adapters/token-stores/safe-files.ts";
import { rejection } from "../../contracts/collect.ts";
import { startProcess } from "../../e2e/program.ts";
import { rounds } from "../../support/long.ts";
import { aFileStore, aFolder, aStore } from "./a-folder.ts";

const PROCESS = ["--import", "tsx", fileURLToPath(new URL("file-store-process.ts", import.meta.url))];

test("many can make the same folders at the same time", async () => {
  const folder = aFolder();
  for (let round = 0; round < 100; round++) {
    const path = join(folder, `${round}/b/c`);
    const makeAfter = async (turns: number): Promise<void> => {
      for (let turn = 0; turn < turns; turn++) await nextTurn();
      await makeFolder(path);
    };
    await Promise.all([0, 1, 2, 3, 4, 5, 6, 7, 8, 9].map(makeAfter));
    expect(existsSync(path)).toBe(true);
  }
});

test("a reader never sees half a token, however often the writer is killed", async () => {
  const directory = join(aFolder(), "tokens");
  const token = join(directory, "a");
  const seen = new Set<string>();
  const look = (): void => {
    const text = readFileSync(token, "utf8");
    expect(text.length === 100_000 && text === text.charAt(0).repeat(100_000)).toBe(true);
    seen.add(text.charAt(0));
  };
  let unfinished = 0;
  // Else nothing is tried: it has to be killed while it writes, too.
  for (let kill = 0; kill < rounds(20) || unfinished === 0; kill++) {
    const writer = startProcess(process.execPath, [...PROCESS, directory, "a=endless"]);
    while (!writer.output().includes("begun")) await sleep(5);
    for (let n = 0; n < 50 + (kill % 7); n++) {
      look();
      await sleep(1);
    }
    await writer.stop("SIGKILL");
    look();
    unfinished += readdirSync(join(directory, ".groupsync")).length;
  }
  expect(seen.size).toBeGreaterThan(1);
  await aFileStore(directory).prepare();
  expect(readdirSync(join(directory, ".groupsync"))).toEqual([]);
});

const canMount = ((): boolean => {
  try {
    execFileSync("unshare", [...UNSHARED(), "mount", "-t", "tmpfs", "none", "/mnt"], { stdio: "pipe" });
    return true;
  } catch (error) {
    if (process.env.CI === "true") throw error;
    console.error("\n!!! Nothing can be mounted here: files on full and read-only disks are NOT tried.\n");
    return false;
  }
})();

/** Its mounts are gone with it, and nobody else sees them. */
function UNSHARED(): string[] {
  return ["--user", "--map-root-user", "--mount"];
}

describe.skipIf(!canMount)("a directory on a file system of its own:", () => {
  /** Runs a script that can write tokens with `put NAME=SIZE …`, and gives what that has printed. */
  async function onDisk(size: string, script: string): Promise<{ results: unknown[]; stdout: string }> {
    const disk = aFolder();
    const lines = [
      "set -e",
      `mount -t tmpfs -o size=${size} none "$1"`,
      'put() { "$NODE" --import tsx "$PROCESS" "$DISK/tokens" "$@"; }',
      script,
    ];
    const env = { NODE: process.execPath, PROCESS: PROCESS.at(-1) ?? "", DISK: disk };
    const { code, stdout, stderr } = await startProcess(
      "unshare",
      [...UNSHARED(), "sh", "-c", lines.join("\n"), "sh", disk],
      env,
    ).ended;
    expect(code, stderr).toBe(0);
    expect(existsSync(join(disk, "tokens"))).toBe(false);
    const results = stdout.split("\n").filter((line) => line.startsWith("{"));
    return { results: results.map((line) => JSON.parse(line)), stdout };
  }

  const unavailable = (code: string) => ({
    problem: "unavailable",
    message: expect.stringContaining(code),
    hint: expect.stringContaining("space"),
  });

  test("a full file system is unavailable, keeps its tokens, and takes new ones once there is space", async () => {
    const { results, stdout } = await onDisk(
      "64k",
      'put a=9 b=100000; ls -A "$DISK/tokens" "$DISK/tokens/.groupsync"; put a=100000 c=9; wc -c "$DISK/tokens/a"',
    );
    expect(results).toEqual([{ done: "a=9" }, unavailable("ENOSPC"), unavailable("ENOSPC"), { done: "c=9" }]);
    expect(stdout).toMatch(/tokens:\n\.groupsync\na\n\n\S+\.groupsync:\n\{/);
    expect(stdout).toMatch(/^9 /m);
  });

  test("a read-only file system is unavailable", async () => {
    const { results } = await onDisk("1m", 'put a=9; mount -o remount,ro "$DISK"; put a=10');
    expect(results).toEqual([{ done: "a=9" }, unavailable("EROFS")]);
  });
});

describe("a file of a token", () => {
  test.each<[string, (path: string) => void, RegExp]>([
    ["that is too large", (path) => writeFileSync(path, "x".repeat(1024 * 1024 + 1)), /larger than/],
    [
      "that everybody can write to",
      (path) => chmodSync(path, 0o666),
      /everybody can write to .* \(mode 0666\)$/,
    ],
    [
      "that a group can write to",
      (path) => chmodSync(path, 0o660),
      /group \d+ can write to .* \(mode 0660\)$/,
    ],
  ])("%s is refused", async (_, change, message) => {
    const { directory, store } = await aStore();
    change(join(directory, "folder/a"));
    expect(await rejection(store.get("folder/a"))).toMatchObject({
      problem: "refused",
      message: expect.stringMatching(message),
    });
  });
});
