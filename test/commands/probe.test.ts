import { describe, expect, test } from "vitest";
import { cli } from "../../src/cli.ts";
import { forgetAndPrint, type ProbeFlags, probeAndPrint, probeCommand } from "../../src/commands/probe.ts";
import type { Ask } from "../../src/compose/host.ts";
import { ServiceFailure } from "../../src/core/failure/service-failure.ts";
import type { ProbedConfig } from "../../src/core/probe/advice.ts";
import { Instance, type Point } from "../fakes/instance.ts";
import { VirtualClock } from "../fakes/virtual-time.ts";
import { syncSettings, tenants, World } from "../fakes/world.ts";
import { anIo, type Printed } from "./an-io.ts";

async function probe(
  world: World,
  flags: readonly string[],
  person: Ask | undefined = undefined,
  at: (point: Point) => void = () => {},
): Promise<Printed> {
  const { io, context, printed } = anIo();
  const ports = { ...world.ports(new Instance({ at }), new VirtualClock(world.time)), observe: () => {} };
  const setup = { ports, settings: syncSettings() };
  const config: ProbedConfig = {
    service: { update: "upsert" },
    deletion: { when: "absent" },
    rotation: { maxAgeMs: null },
    group: {},
  };
  const command = probeCommand(context).action(({ forget, json = false }: ProbeFlags) =>
    forget === undefined
      ? probeAndPrint(setup, config, { ask: person, json }, io)
      : forgetAndPrint(setup, forget, { json }, io),
  );
  await command.parseAsync(flags, { from: "user" });
  return printed;
}

/** Keeps the questions, and answers all of them in this way. */
const answering =
  (answer: string, questions: string[] = []): Ask =>
  async (question) => {
    questions.push(question);
    return answer;
  };

describe("probe", () => {
  test.each(["n", "", "no", "yesterday"])(
    "says what it will do, asks, and sends nothing after %j",
    async (answer) => {
      const world = new World(tenants("a"));
      const questions: string[] = [];
      const { code, stdout, stderr } = await probe(world, [], answering(answer, questions));
      expect({ code, stdout, stderr }).toEqual({ code: 1, stdout: "", stderr: "Nothing was sent.\n" });
      expect(questions).toEqual([
        expect.stringMatching(
          /^This makes one group, a canary, at https:\/\/dashboards\.example\.com.*\[y\/N\] $/s,
        ),
      ]);
      expect(world.service.requests).toEqual([]);
      expect(world.ledger.runs).toEqual([]);
    },
  );

  test.each<[string[], Ask | undefined]>([
    [[], answering("y")],
    [[], answering(" Yes ")],
    [["--yes"], undefined],
  ])("goes on after a yes, and doesn't ask with --yes: %j", async (flags, person) => {
    const { code, stdout } = await probe(new World(tenants("a")), flags, person);
    expect(code).toBe(0);
    expect(stdout).toMatch(/^a GET with another name {2,}returns the group unchanged$/m);
    expect(stdout).toContain("All found out, and the canary is deleted");
  });

  test("names what nobody has found out", async () => {
    const world = new World(tenants("a"));
    world.service.existing = "update";
    const { code, stdout } = await probe(world, ["--yes"], undefined, ({ when, call }) => {
      if (when === "before" && call === "rotate") throw new ServiceFailure("REFUSED", "HTTP 404");
    });
    expect({ code, stdout }).toMatchObject({ code: 0, stdout: expect.not.stringContaining("All found out") });
    expect(stdout).toContain("Not found out: a GET with another name; a POST with the old token");
    expect(stdout).not.toContain("Recorded in the ledger");
  });

  test("is wrong usage without a terminal and without --yes", async () => {
    const { io, printed } = anIo();
    await cli(["--config", "/no/such/config.yaml", "probe"], io);
    expect(printed).toMatchObject({ code: 64, stderr: expect.stringContaining("say --yes") });
  });

  test("names the canary that remains, and what to do, with exit code 3", async () => {
    const world = new World(tenants("a"));
    const { code, stdout } = await probe(world, ["--yes"], undefined, ({ when, call }) => {
      if (when === "before" && call === "remove") throw new ServiceFailure("REFUSED", "HTTP 404");
    });
    const [id = ""] = world.ledger.rows.keys();
    expect(code).toBe(3);
    expect(stdout).toContain(`The probe failed: the service still has the canary of a probe, ${id}`);
    expect(stdout).toContain(`groupsync probe --forget ${id}`);
    expect(stdout).toMatch(/^a DELETE with current_token, user_group_id {2,}is refused: HTTP 404$/m);

    await expect(probe(world, ["--forget", "another"])).rejects.toMatchObject({
      code: "UNKNOWN_ID",
      hint: `it knows of ${id}`,
    });
    expect([...world.ledger.rows.keys()]).toEqual([id]);
    const sent = world.service.requests.length;
    expect(await probe(world, ["--forget", id])).toMatchObject({ code: 0 });
    expect(world.ledger.rows.size).toBe(0);
    expect(world.service.requests).toHaveLength(sent);
  });
});
