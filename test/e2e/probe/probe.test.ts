import { expect, test } from "vitest";
import type { SandboxOptions } from "../../../src/sandbox/server.ts";
import { expectInSync } from "../in-sync.ts";
import { aWorld, until, type World } from "../world.ts";

/** Every value once. The engine's tests try many more services, see engine/probe.test.ts. */
const KINDS: readonly Required<Pick<SandboxOptions, "deleteBy" | "errors" | "existing">>[] = [
  { deleteBy: "token", errors: "status", existing: "keep" },
  { deleteBy: "id", errors: "body", existing: "update" },
  { deleteBy: "both", errors: "body", existing: "keep" },
];

/** What `probe --json` prints. */
async function probe(world: World, ...args: string[]) {
  const { code, stdout, stderr } = await world.run("probe", "--yes", "--json", ...args);
  return { code, stderr, report: stdout === "" ? {} : JSON.parse(stdout) };
}

const canaries = async (world: World): Promise<readonly unknown[]> =>
  world.database.query("SELECT user_group_id FROM groupsync_groups WHERE gone = 'canary'");

test.each(KINDS)(
  "finds out how a sandbox behaves: delete-by $deleteBy, errors $errors, existing $existing",
  async (kind) => {
    const world = await aWorld({ tenants: 3, service: kind });
    await world.sync();
    await world.forgetRequests();
    const { code, report } = await probe(world);
    const updates = kind.existing === "update";
    expect({ code, report }).toMatchObject({
      code: 0,
      report: {
        outcome: "ok",
        canary: { gone: true },
        findings: {
          repeated_get: "the same",
          update: updates ? "updates" : "keeps",
          rotation: "a new token",
          old_token: "refused",
          get_after_rotation: "the new token",
          deletes: [{ fields: ["current_token", "user_group_id"], result: "deleted" }],
        },
        recorded: { updates },
        errors: [],
      },
    });
    const { canary, requests } = report;
    const advised: string[] = report.advice.map(({ hint }: { hint: string | null }) => hint ?? "");
    expect(advised.some((hint) => hint.includes("service.update: replace"))).toBe(!updates);

    const { total, by_group } = await world.requests();
    expect(requests).toBe(total);
    expect(Object.keys(by_group)).toEqual([canary.user_group_id]);
    expect(await canaries(world)).toEqual([]);
    await expectInSync(world);
    const { groups, runs, failing } = await world.status();
    expect(groups).toMatchObject({ total: 3, in_sync: 3 });
    expect(runs[0]).toMatchObject({ command: "probe", outcome: "ok" });
    expect(failing).toEqual([]);
    expect(await world.sync()).toMatchObject({ code: 0, report: { requests: 0, unchanged: 3 } });
  },
);

test("a probe that is told to stop deletes its canary first", async () => {
  const world = await aWorld({ tenants: 1, service: { latency: { min: 20, max: 40 } } });
  await world.sync();
  const { total } = await world.requests();
  const program = world.start("probe", "--yes", "--json");
  await until(async () => (await world.requests()).total >= total + 2);
  const { code, stdout } = await program.stop("SIGTERM");
  expect({ code, report: JSON.parse(stdout) }).toMatchObject({
    code: 1,
    report: { outcome: "failed", canary: { gone: true }, errors: [{ code: "INTERRUPTED" }] },
  });
  expect(await canaries(world)).toEqual([]);
  await expectInSync(world);
});
