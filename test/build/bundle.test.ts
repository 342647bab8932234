import { cpSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import type { Script } from "node:vm";
import { expect, test } from "vitest";
import { bundleFile, compiledFile, loadBundle, PACKAGES_APART, PROGRAM } from "../../build/load-bundle.ts";
import { MAIN, startProcess } from "../e2e/program.ts";
import { aWorld } from "../e2e/world.ts";
import { temporaryFolder } from "../support/temporary-folder.ts";

const DIST = dirname(MAIN);

/** A copy of the program that may be damaged. */
function aCopy(): string {
  const folder = temporaryFolder();
  cpSync(DIST, join(folder, "dist"), { recursive: true });
  cpSync(join(DIST, "../package.json"), join(folder, "package.json"));
  return join(folder, "dist");
}

test.each([PROGRAM, ...PACKAGES_APART])("V8 takes the code that the build has compiled of %s", (name) => {
  const scripts = new Map<string, Script>();
  loadBundle(`${DIST}/`, name, scripts);
  expect(scripts.get(name)?.cachedDataRejected).toBe(false);
});

test.each([PROGRAM, ...PACKAGES_APART])("the bundle %s is read right: it is in ASCII", (name) => {
  expect(readFileSync(join(DIST, bundleFile(name)), "utf8").match(/.{0,20}\P{ASCII}.*/gu)).toBeNull();
});

test("the program has no package that is apart", () => {
  const bundle = readFileSync(join(DIST, bundleFile(PROGRAM)), "latin1");
  for (const name of PACKAGES_APART) expect(bundle).not.toContain(`// node_modules/${name}/`);
});

test.each([
  ["is missing", (file: string) => rmSync(file)],
  ["is cut short", (file: string) => writeFileSync(file, readFileSync(file).subarray(0, 1_000_000))],
  ["is something else", (file: string) => writeFileSync(file, "something else")],
])("the program starts if its compiled code %s", async (_, damage) => {
  const dist = aCopy();
  damage(join(dist, compiledFile(PROGRAM)));
  const { code, stdout, stderr } = await startProcess(process.execPath, [join(dist, "main.js"), "--version"])
    .ended;
  expect({ code, stderr }).toEqual({ code: 0, stderr: "" });
  expect(stdout).toMatch(/^\d+\.\d+\.\d+\n$/);
});

test("the program that can be read counts, and not the compiled code of another one of the same length", async () => {
  const dist = aCopy();
  const file = join(dist, bundleFile(PROGRAM));
  const bundle = readFileSync(file, "latin1");
  const other = bundle.replaceAll("print the version", "shows the version");
  expect(other).not.toBe(bundle);
  expect(other).toHaveLength(bundle.length);
  writeFileSync(file, other);
  const { stdout } = await startProcess(process.execPath, [join(dist, "main.js"), "--help"]).ended;
  expect(stdout).toContain("shows the version");
});

test("an error that nobody has foreseen shows the names of functions, and the lines around it", async () => {
  const dist = aCopy();
  const bundle = readFileSync(join(dist, bundleFile(PROGRAM)), "latin1");
  const broken = bundle.replace(/function program\d*\(io\) {/, "$&\n  null.planted;");
  expect(broken).not.toBe(bundle);
  writeFileSync(join(dist, bundleFile(PROGRAM)), broken);
  const { code, stderr } = await startProcess(process.execPath, [join(dist, "main.js"), "--version"]).ended;
  expect(code).toBe(1);
  expect(stderr).toContain("null.planted;\n");
  expect(stderr).toMatch(/at program\d* \(.*groupsync\.cjs:\d+:\d+\)\n +at cli \(/);
});

test("the bundle loads the clients of vendors that are installed beside it", async () => {
  const world = await aWorld({ tenants: 1, config: { tokens: { store: "kubernetes", namespace: "n" } } });
  world.env.KUBECONFIG = join(world.folder, "nowhere");
  const { code, stdout } = await world.start("sync").ended;
  expect({ code, stdout }).toEqual({
    code: 1,
    stdout: expect.stringContaining("there is no such kubeconfig"),
  });
});

test("the packages in the bundle come with their licences", () => {
  const notices = readFileSync(join(DIST, "THIRD-PARTY-NOTICES.txt"), "utf8");
  for (const name of ["pg", "mysql2", "undici", "zod"])
    expect(notices).toMatch(new RegExp(`^${name} \\d+\\.\\d+\\.\\d+: \\w`, "m"));
});
