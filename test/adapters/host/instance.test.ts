import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { readFileSync } from "node:fs";
import fc from "fast-check";
import { describe, expect, onTestFinished, test } from "vitest";
import { isDead, thisInstance } from "../../../src/adapters/host/instance.ts";

const isRunning = (pid: number): boolean => {
  try {
    process.kill(pid, 0);
    return true;
  } catch {
    return false;
  }
};
const never = (): boolean => {
  throw new Error("not to be asked");
};
const NO_PID = 2 ** 22 + 1;

function aProcess(): ChildProcess {
  const child = spawn("sleep", ["600"]);
  onTestFinished(() => void child.kill("SIGKILL"));
  return child;
}

// Elsewhere nothing is known for certain, and nobody is taken for dead.
describe.runIf(process.platform === "linux")("an instance", () => {
  test("is alive while its process runs, and keeps its name", async () => {
    const name = await thisInstance(process.pid);
    expect(name).toMatch(new RegExp(`^\\S+ pid ${process.pid} \\(\\S+\\)$`));
    expect(await thisInstance(process.pid)).toBe(name);
    expect(await isDead(name, isRunning)).toBe(false);
  });

  test("is dead when its process was killed", async () => {
    const child = aProcess();
    const name = await thisInstance(child.pid ?? 0);
    expect(await isDead(name, isRunning)).toBe(false);
    child.kill("SIGKILL");
    await once(child, "exit");
    expect(await isDead(name, isRunning)).toBe(true);
  });

  test("is dead when its parent has not noticed yet", async () => {
    // The shell becomes a program that never waits for the child it was given.
    const parent = spawn("sh", ["-c", "sleep 600 & echo $!; exec sleep 600"], {
      stdio: ["ignore", "pipe", "ignore"],
    });
    onTestFinished(() => void parent.kill("SIGKILL"));
    const [line] = await once(parent.stdout, "data");
    const pid = Number(String(line));
    const name = await thisInstance(pid);
    // Until then it is a shell, which takes notice.
    const program = () => readFileSync(`/proc/${parent.pid}/comm`, "utf8");
    await expect.poll(program, { timeout: 20_000 }).toBe("sleep\n");
    process.kill(pid, "SIGKILL");
    await expect.poll(() => isDead(name, never), { timeout: 20_000 }).toBe(true);
    expect(isRunning(pid)).toBe(true);
  });

  test("is dead when another process has its pid", async () => {
    const child = aProcess();
    const name = await thisInstance(child.pid ?? 0);
    const earlier = name.replace(/\/\d+\)$/, "/1)");
    expect(await isDead(earlier, never)).toBe(true);
    expect(await isDead(name, never)).toBe(false);
  });

  test("is left to the kernel's word where /proc doesn't show it", async () => {
    const hidden = (await thisInstance(process.pid)).replace(/ pid \d+ /, ` pid ${NO_PID} `);
    expect(await isDead(hidden, () => true)).toBe(false);
    expect(await isDead(hidden, () => false)).toBe(true);
  });

  test("can't be told from here in another realm: another boot, container or machine", async () => {
    const gone = (await thisInstance(process.pid)).replace(/ pid \d+ /, ` pid ${NO_PID} `);
    expect(await isDead(gone, () => false)).toBe(true);
    for (const realm of ["unknown", "another-boot:4026531836", "0123456789abcdef0123456789abcdef"]) {
      expect(await isDead(gone.replace(/\([^/]+\//, `(${realm}/`), () => false)).toBe(false);
    }
    expect(await isDead(`clone-of-${gone}`, () => false)).toBe(false);
  });

  test("has a name: nothing else is taken for one that is dead", async () => {
    const name = await thisInstance(process.pid);
    const garbage = fc.oneof(
      fc.string(),
      fc.nat(name.length - 1).map((length) => name.slice(0, length)),
      fc.constant(name.replace("pid", "PID")),
    );
    await fc.assert(
      fc.asyncProperty(garbage, async (text) => {
        expect(await isDead(text, () => false)).toBe(false);
      }),
    );
  });
});
