import { expect, type TestContext } from "vitest";
import { aDaemon } from "../e2e/daemon/a-daemon.ts";
import { idOf, until } from "../e2e/world.ts";
import { skipIfNotToBeHad } from "../support/servers/not-to-be-had.ts";
import { aCustomer, type Customer, expectEnded } from "./customer.ts";
import { type Installation, type Running, STEPS, type Step } from "./installation.ts";

export interface Lived {
  /** The server's own version. */
  readonly version: string;
  readonly between?: string;
  readonly shown: readonly Step[];
}

const TENANTS = 12;
/** Enough that a kill meets a sync in its middle. */
const MANY = 60;

/**
 * Starts an installation for the running test, and does everything there that an operator does, from an empty database to a
 * daemon. Skips the test if a package can't be had.
 */
export async function liveOn(installation: Installation, context: TestContext): Promise<Lived> {
  const running = await installation
    .start((why) => context.skip(why))
    .catch((error: unknown) => skipIfNotToBeHad(error, context));
  const { cannot = {}, refused } = installation;
  const customer = await aCustomer(running, !("channel" in cannot));
  const versions = async () => ({
    version: await customer.version(),
    ...(running.between && { between: running.between }),
  });
  await customer.addTenants(1, TENANTS);
  const shown = STEPS.filter((step) => !(step in cannot || (step === "failover" && !running.failOver)));
  for (const step of shown) {
    if (step === "check" && refused) {
      await isRefused(customer, refused);
      return { ...(await versions()), shown: [] };
    }
    await LIFE[step](customer, running);
  }
  return { ...(await versions()), shown };
}

/** `check` has to say that a sync can't work here. */
async function isRefused({ run }: Customer, says: RegExp): Promise<void> {
  const { code, stdout } = await run("check");
  expect(stdout).toMatch(says);
  expect(code).not.toBe(0);
}

const LIFE: Readonly<Record<Step, (customer: Customer, running: Running) => Promise<void>>> = {
  init: ({ setUp }) => setUp(),

  async check({ run }) {
    const ended = await run("check");
    expectEnded(ended, { code: 0 });
    expect(ended.stdout).not.toContain("✗");
  },

  async probe({ run }) {
    expectEnded(await run("probe", "--yes"), { code: 0 });
  },

  async sync({ runAll, report, expectEqual }, { instances }) {
    const { report: plan } = await report("plan");
    expect(plan).toMatchObject({ create: Array(TENANTS).fill({}), failures: [] });
    // If there are several instances, one of them may find that another one has the lease.
    const ended = await runAll("sync");
    for (const one of ended) expectEnded(one, { code: one.code === 5 && instances.length > 1 ? 5 : 0 });
    expect(ended.map(({ code }) => code)).toContain(0);
    expectEnded(await report("sync"), { code: 0, report: { unchanged: TENANTS, requests: 0 } });
    await expectEqual();
  },

  async changes({ world, addTenants, report, expectEqual }) {
    await world.database.query(
      `UPDATE customers SET company_name = 'Größer & Söhne' WHERE id <= '${idOf(3)}'`,
    );
    await addTenants(TENANTS + 1, TENANTS + 2);
    expectEnded(await report("sync"), { code: 0, report: { created: 2, updated: 3 } });
    await expectEqual();
  },

  async deletions({ world, report, expectEqual }) {
    await world.removeTenants(1, 2);
    expectEnded(await report("sync"), { code: 0, report: { deleted: 2 } });
    await expectEqual();
    await world.removeTenants(3, 6);
    const held = await report("sync");
    expectEnded(held, { code: 4, report: { deleted: 0, held: 4 } });
    const approved = await report("sync", "--approve-deletions", held.report.held_code);
    expectEnded(approved, { code: 0, report: { deleted: 4 } });
    await expectEqual();
  },

  async failure({ addTenants, tokens, tokenTable, report, expectEqual }) {
    await addTenants(21, 22);
    const refused = idOf(21);
    await tokens(
      `ALTER TABLE ${tokenTable} ADD CONSTRAINT not_this_one CHECK (user_group_id <> '${refused}')`,
    );
    expectEnded(await report("sync"), {
      code: 3,
      report: { created: 1, failed: 1, errors: [{ user_group_id: refused, code: "TOKEN_NOT_STORED" }] },
    });
    await tokens(`ALTER TABLE ${tokenTable} DROP CONSTRAINT not_this_one`);
    expectEnded(await report("sync", "--only", refused), { code: 0, report: { failed: 0 } });
    await expectEqual();
  },

  async rotation({ world, report, expectEqual }) {
    const before = await world.live();
    expectEnded(await report("rotate", "--all", "--yes"), { code: 0 });
    const after = await world.live();
    expect(Object.keys(after).filter((id) => after[id] === before[id])).toEqual([]);
    await expectEqual();
  },

  async "kill -9"({ world, addTenants, takeTurn, report, expectEqual }) {
    await addTenants(101, 100 + MANY);
    await world.serve({ existing: "update", latency: { min: 20, max: 40 } });
    await world.forgetRequests();
    await takeTurn();
    const program = world.start("sync");
    await until(async () => (await world.requests()).total >= MANY / 3);
    expect(await program.stop("SIGKILL")).toMatchObject({ signal: "SIGKILL" });
    let next = await report("sync");
    // The lease of the dead one has to run out.
    while (next.code === 5) next = await report("sync");
    expectEnded(next, { code: 0 });
    expectEnded(await report("sync"), { code: 0, report: { requests: 0 } });
    await expectEqual();
  },

  column: (customer) =>
    daemonNotices(customer, 201, { "source.changes.channel": undefined, "source.changes.url": undefined }),

  channel: (customer) => daemonNotices(customer, 203, { "source.changes.column": undefined }),

  async failover({ report, expectEqual }, { failOver = async () => {} }) {
    await failOver();
    expectEnded(await report("sync"), { code: 0, report: { requests: 0 } });
    await expectEqual();
  },
};

/** A daemon finds new and changed tenants, long before its next full sync. */
async function daemonNotices(
  customer: Customer,
  first: number,
  keys: Readonly<Record<string, unknown>>,
): Promise<void> {
  const { world, addTenants, takeTurn, configure, storedIds, expectEqual } = customer;
  const config = await customer.config();
  await configure({ schedule: "0 0 1 1 *", ...keys });
  await takeTurn();
  const daemon = await aDaemon(world);
  await daemon.ran(1);
  const changed = idOf(first + 1);
  await addTenants(first, first + 1);
  await until(async () => (await storedIds()).includes(changed));
  await world.database.query(`UPDATE customers SET company_name = 'Neu' WHERE id = '${changed}'`);
  const isNew = async (): Promise<boolean> =>
    (await world.groups()).some(({ user_group_id, name }) => user_group_id === changed && name === "Neu");
  await until(isNew);
  expect(daemon.runs()).toMatchObject([{ outcome: "ok" }]);
  expect(await daemon.program.stop("SIGTERM")).toMatchObject({ code: 0 });
  await config.restore();
  await expectEqual();
}
