import { readdirSync } from "node:fs";
import { connect } from "node:net";
import { fileURLToPath } from "node:url";
import { expect, onTestFinished, test } from "vitest";
import { type Program, startProcess } from "../e2e/program.ts";
import { until } from "../e2e/world.ts";
import { anAccount, aVisitor } from "../examples/visitor.ts";
import { LONG } from "../support/long.ts";
import { temporaryFolder } from "../support/temporary-folder.ts";

test("the demo with --keep ends with an application and the daemon's page, and a Ctrl-C removes everything", async () => {
  const { program, left } = startDemo("--keep");
  await saying(program, "Ctrl-C ends and removes everything");
  const text = program.output();
  const page = /The status page: (\S+)/.exec(text)?.[1] ?? "";
  const application = /The application: (\S+)\//.exec(text)?.[1] ?? "";
  const sandbox = /It listens at (\S+)/.exec(text)?.[1] ?? "";
  const database = /psql '(\S+)'/.exec(text)?.[1] ?? "";

  expect(await (await fetch(page)).text()).toContain("cus-1117");
  const visitor = aVisitor(application);
  expect((await visitor.send("/sign-up", anAccount("Fern"))).status).toBe(303);
  expect(await visitor.text("/dashboard")).toContain("Hello, Fern!");
  const { code, stderr, stdout } = await program.stop("SIGINT");
  expect({ code, stderr }).toEqual({ code: 0, stderr: "" });
  expect(stdout).toContain("Stopped, and cleaned up.");
  const addresses = [page, application, sandbox, database];
  expect(await Promise.all(addresses.map(isThere))).toEqual(addresses.map(() => false));
  expect(left()).toEqual([]);
});

test.runIf(LONG)("the demo says what it can do if it is called wrongly", async () => {
  const { program } = startDemo("--keeep");
  expect(await program.ended).toMatchObject({ code: 64, stdout: expect.stringContaining("-- --keep") });
});

test.runIf(LONG)("a Ctrl-C in the middle of the demo removes everything too", async () => {
  const { program, left } = startDemo();
  await saying(program, "groupsync rotate");
  const { code, stdout } = await program.stop("SIGINT");
  expect(code).toBe(130);
  expect(stdout).toContain("Stopped, and cleaned up.");
  expect(left()).toEqual([]);
});

/** `left` lists what is in the demo's temporary folder. */
function startDemo(...args: string[]): { program: Program; left: () => string[] } {
  const folder = temporaryFolder();
  const demo = fileURLToPath(new URL("demo.ts", import.meta.url));
  const tsx = fileURLToPath(import.meta.resolve("tsx"));
  const env = { TMPDIR: folder, TSX_DISABLE_CACHE: "1" };
  const program = startProcess(process.execPath, ["--import", tsx, demo, ...args], env);
  // Also if a test fails: the daemon of --keep would outlive a SIGKILL.
  onTestFinished(async () => {
    await program.stop("SIGTERM");
  });
  return { program, left: () => readdirSync(folder) };
}

async function saying(program: Program, text: string): Promise<void> {
  await until(async () => program.output().includes(text) || program.child.exitCode !== null);
  expect(program.output()).toContain(text);
}

/** Whether something listens there. */
function isThere(url: string): Promise<boolean> {
  const { hostname, port } = new URL(url);
  return new Promise((resolve) => {
    const socket = connect({ host: hostname, port: Number(port) });
    socket.on("connect", () => resolve(true)).on("error", () => resolve(false));
    socket.on("connect", () => socket.destroy());
  });
}
