import { expect, test } from "vitest";
import { aWorld } from "./world.ts";

const INSECURE =
  /^Node\.js warns: Warning: Setting the NODE_TLS_REJECT_UNAUTHORIZED environment variable to '0'/;

/** Warns as soon as somebody listens to warnings, in two lines. */
const WARNS = `process.on("newListener", (event) => {
  if (event === "warning") setImmediate(() => process.emitWarning("this is old,\\nand long", "DeprecationWarning"));
})`;

const linesOf = (text: string): readonly unknown[] =>
  text
    .split("\n")
    .filter((line) => line !== "")
    .map((line) => JSON.parse(line));

test("what Node.js warns of is a line of the log, and none of the report", async () => {
  const world = await aWorld({ service: { tls: true } });
  world.env.NODE_TLS_REJECT_UNAUTHORIZED = "0";
  const { code, stderr, report } = await world.sync();
  expect({ code, report }).toMatchObject({ code: 0, report: { created: 5 } });
  const said = linesOf(stderr).filter((line) => JSON.stringify(line).includes("NODE_TLS"));
  expect(said).toEqual([
    expect.objectContaining({ level: "warn", code: "PROCESS_WARNING", msg: expect.stringMatching(INSECURE) }),
  ]);
});

test("what a package warns of breaks neither the log nor a plan", async () => {
  const world = await aWorld();
  world.env.NODE_OPTIONS = `--import=data:text/javascript,${encodeURIComponent(WARNS)}`;
  for (const command of ["sync", "plan"]) {
    const { stdout, stderr } = await world.run(command, "--json");
    expect(JSON.parse(stdout)).toEqual(expect.any(Object));
    expect(linesOf(stderr)).toContainEqual(
      expect.objectContaining({ msg: "Node.js warns: DeprecationWarning: this is old, and long" }),
    );
  }
});

test("whoever wants no warnings gets none", async () => {
  const world = await aWorld({ service: { tls: true } });
  Object.assign(world.env, { NODE_TLS_REJECT_UNAUTHORIZED: "0", NODE_NO_WARNINGS: "1" });
  expect((await world.sync()).stderr).not.toContain("NODE_TLS");
});
