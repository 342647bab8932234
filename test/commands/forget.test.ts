import { Command } from "commander";
import { describe, expect, test } from "vitest";
import { type ForgetFlags, forgetCommand, forget as runForget } from "../../src/commands/forget.ts";
import type { Ask } from "../../src/compose/host.ts";
import { ServiceFailure } from "../../src/core/failure/service-failure.ts";
import { next } from "../../src/core/record/next.ts";
import { Instance } from "../fakes/instance.ts";
import { VirtualClock } from "../fakes/virtual-time.ts";
import { aSyncedWorld, syncSettings, tenants, World } from "../fakes/world.ts";
import { anIo, type Printed } from "./an-io.ts";

interface Given {
  /** Who is asked; nobody if it is left out. */
  readonly ask?: Ask;
  /** The `name` in the config. */
  readonly configName?: string;
}

async function forget(
  world: World,
  args: readonly string[],
  { ask, configName = "default" }: Given = {},
): Promise<Printed> {
  const { io, context, printed } = anIo();
  const ports = { ...world.ports(new Instance(), new VirtualClock(world.time)), observe: () => {} };
  const setup = { ports, settings: syncSettings(), configName };
  const command = forgetCommand(context).action((name: string, flags: ForgetFlags) =>
    runForget(name, setup, flags, ask, io),
  );
  const root = new Command().addCommand(command.exitOverride().configureOutput({ writeErr: io.stderr }));
  await root.parseAsync(["forget", ...args], { from: "user" });
  return printed;
}

const CANARY = "groupsync-canary-1";

/** As a probe leaves it that was killed. */
function addCanary({ ledger, time }: World): void {
  const { record } = next(
    null,
    { kind: "probed", user_group_id: CANARY, baseUrl: "https://dashboards.example.com" },
    time.now(),
  );
  if (record) ledger.rows.set(CANARY, record);
}

const rowsOf = (world: World): string[] => [...world.ledger.rows.keys()];

describe("without a confirmation", () => {
  test("forget shows what there is and what stays, and changes nothing", async () => {
    const world = await aSyncedWorld(["a", "b"]);
    const { code, stdout } = await forget(world, ["default"]);
    expect(code).toBe(0);
    expect(stdout).toBe(`Scope "default"

Groups    2
Service   https://dashboards.example.com, team 7
Tokens    here
Last run  sync, ${world.ledger.runs[0]?.startedAt.toISOString()}, ok
Lease     free

Forgetting it takes its groups, tokens' fingerprints and history out of the ledger. What stays:
  the groups at the service
  their tokens where they are stored; they go on working
Nobody deletes these groups afterwards. --delete-groups deletes them first.
Nothing was changed. To forget it: groupsync forget default --yes
`);
    expect(rowsOf(world)).toHaveLength(2);
    expect(world.ledger.runs).toHaveLength(1);
  });

  test("forget --delete-groups says how many groups it would delete", async () => {
    const world = await aSyncedWorld(["a", "b"]);
    const { stdout } = await forget(world, ["default", "--delete-groups"]);
    expect(stdout).toContain("deletes these 2 groups at the service, without a grace period or a limit,");
    expect(stdout).toContain("To forget it: groupsync forget default --delete-groups --yes");
    expect(world.service.groups.size).toBe(2);
  });

  test("--json asks nobody, and prints what there is", async () => {
    const world = await aSyncedWorld(["a", "b"]);
    const ask: Ask = () => Promise.reject(new Error("nobody should be asked"));
    const { stdout } = await forget(world, ["default", "--json"], { ask });
    expect(JSON.parse(stdout)).toEqual({
      scope: "default",
      forgotten: false,
      groups: 2,
      under_way: 0,
      service: { base_url: "https://dashboards.example.com", team_id: 7 },
      tokens: ["here"],
      last_run: { command: "sync", started_at: world.ledger.runs[0]?.startedAt.toISOString() },
      lease: null,
      delete_groups: false,
      deleted: 0,
      failed: 0,
      requests: 0,
      free: [],
      errors: [],
    });
    expect(rowsOf(world)).toHaveLength(2);
  });

  test("groups under way, a canary among them, and a holder of the lease are named", async () => {
    const world = new World(tenants("a", "b"));
    const { instance, report } = world.start({
      at: ({ when, call }) => {
        if (when === "after" && call === "getOrCreate") instance.kill();
      },
    });
    await report;
    addCanary(world);
    const underWay = [...world.ledger.rows].filter(([, { intent }]) => intent !== null).map(([id]) => id);
    const { stdout } = await forget(world, ["default"]);
    expect(underWay).toContain(CANARY);
    expect(stdout).toContain(`Under way ${underWay.length}: nobody knows yet`);
    expect(stdout).toMatch(/Lease {5}this, since .*: has to be stopped first/);
  });
});

describe("in a terminal", () => {
  test("forget asks for the name, and forgets the scope", async () => {
    const world = await aSyncedWorld(["a"]);
    const questions: string[] = [];
    const ask: Ask = async (question) => {
      questions.push(question);
      return "default";
    };
    const { code, stdout } = await forget(world, ["default"], { ask });
    expect({ code, questions }).toEqual({ code: 0, questions: ["To forget it, type its name, default: "] });
    expect(stdout).toContain(
      'The scope "default" is forgotten\n  1 group left at the service\n  the store can be used by another config now\n',
    );
    expect(rowsOf(world)).toEqual([]);
    expect(world.store.owner).toBeNull();
  });

  test.each(["staging", "y", ""])("nothing is changed by another answer: %j", async (answer) => {
    const world = await aSyncedWorld(["a"]);
    const { stdout } = await forget(world, ["default", "--delete-groups"], { ask: async () => answer });
    expect(stdout).toContain("Nothing was changed.");
    expect({ rows: rowsOf(world), sent: world.service.requests }).toEqual({ rows: ["a"], sent: [] });
  });
});

describe("with --yes", () => {
  test("groups that can't be deleted are named, with exit code 3", async () => {
    const world = await aSyncedWorld(["a", "b"]);
    world.store.notRemovable.add("b");
    const { code, stdout } = await forget(world, ["default", "--delete-groups", "--yes"]);
    expect(code).toBe(3);
    expect(stdout).toContain(
      'The scope "default" is not forgotten: 1 group could not be deleted\n  1 group deleted;',
    );
    expect(stdout).toContain("  b: TOKEN_NOT_REMOVED: it is stuck\n  what is left stays in the ledger;");
    const json = await forget(world, ["default", "--delete-groups", "--yes", "--json"]);
    expect(JSON.parse(json.stdout)).toMatchObject({
      forgotten: false,
      deleted: 0,
      failed: 1,
      errors: [{ user_group_id: "b", code: "TOKEN_NOT_REMOVED" }],
    });
  });

  test("an error of the run is told with what to do", async () => {
    const world = await aSyncedWorld(["a", "b"]);
    world.ledger.sharedGroups = [{ scope: "production", count: 2, first: "a" }];
    const { code, stdout } = await forget(world, ["default", "--delete-groups", "--yes"]);
    expect(code).toBe(78);
    expect(stdout).toMatch(
      /is not forgotten: 2 groups of this scope, such as "a", belong to the scope "production"/,
    );
    expect(stdout).toContain('no group was deleted, because to delete it would take it from "production"');
    expect(world.service.groups.size).toBe(2);
  });

  test("a canary is deleted too; one that can't be keeps the scope, with exit code 3", async () => {
    const world = await aSyncedWorld(["a"]);
    addCanary(world);
    world.network = async ({ operation, id }) => {
      if (operation === "DELETE" && id === CANARY) throw new ServiceFailure("REFUSED", "no");
    };
    const { code, stdout } = await forget(world, ["default", "--delete-groups", "--yes"]);
    expect(code).toBe(3);
    expect(stdout).toContain(CANARY);
    expect(rowsOf(world)).toEqual([CANARY]);
  });

  test("an unknown scope is refused with the names of those that there are", async () => {
    const world = await aSyncedWorld(["a"]);
    await expect(forget(world, ["stagign", "--yes"])).rejects.toMatchObject({
      code: "UNKNOWN_SCOPE",
      message: 'the ledger in memory.groupsync_* keeps nothing of a scope "stagign"; it has "default"',
    });
  });

  test("a scope that is forgotten is unknown from then on", async () => {
    const world = await aSyncedWorld(["a"]);
    await forget(world, ["default", "--yes"]);
    await expect(forget(world, ["default", "--yes"])).rejects.toMatchObject({
      code: "UNKNOWN_SCOPE",
      message: expect.stringContaining("it has no scope at all"),
    });
  });
});

describe("with the config of another scope", () => {
  test("no group is deleted", async () => {
    const world = await aSyncedWorld(["a"]);
    const deleting = forget(world, ["default", "--delete-groups", "--yes"], { configName: "production" });
    await expect(deleting).rejects.toMatchObject({
      code: "CONFIG_OTHER_SCOPE",
      message: expect.stringMatching(/"default".*its own config.*"production"/),
    });
    expect(rowsOf(world)).toEqual(["a"]);
  });

  test("the ledger forgets the scope, and the mark beside its tokens stays", async () => {
    const world = await aSyncedWorld(["a"]);
    const mark = world.store.owner;
    const { code, stdout } = await forget(world, ["default", "--yes"], { configName: "production" });
    expect(code).toBe(0);
    expect(stdout).toContain(
      "  the owner's marks beside the tokens, because this is not the scope's own config\n",
    );
    expect(stdout).toContain("another config that wants the place of its tokens is told how");
    expect({ mark: world.store.owner, rows: rowsOf(world) }).toEqual({ mark, rows: [] });
  });
});
