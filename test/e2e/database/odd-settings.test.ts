import { expect, inject, test } from "vitest";
import { aWorld, idOf } from "../world.ts";

const SETTINGS = {
  DateStyle: "German",
  IntervalStyle: "postgres_verbose",
  TimeZone: "Australia/Adelaide",
  bytea_output: "escape",
  extra_float_digits: "-15",
  default_transaction_read_only: "on",
  default_transaction_isolation: "serializable",
  standard_conforming_strings: "off",
};

test.runIf(inject("databaseKind") === "postgres")(
  "a database with settings of its own has the same groups, and every command works",
  async () => {
    const world = await aWorld({
      tenants: 3,
      config: { deletion: { grace_period: "0s" }, group: { properties: { made: "made", share: "share" } } },
    });
    const { query, name } = world.database;
    await query(`ALTER TABLE customers
      ADD made timestamptz DEFAULT '2026-03-01 09:30:00Z', ADD share float8 DEFAULT 0.1`);
    for (const [setting, value] of Object.entries(SETTINGS))
      await query(`ALTER DATABASE ${name} SET ${setting} = '${value}'`);

    for (const command of ["check", "plan"]) expect(await world.run(command)).toMatchObject({ code: 0 });
    expect(await world.sync()).toMatchObject({ code: 0, report: { created: 3 } });
    expect(await world.sync()).toMatchObject({ code: 0, report: { unchanged: 3, requests: 0 } });
    const [group] = await world.groups();
    expect(group?.properties).toMatchObject({ made: "2026-03-01T09:30:00.000Z", share: 0.1 });
    expect(await world.rotate("--only", idOf(2))).toMatchObject({ code: 0, report: { rotated: 1 } });
    expect(await world.stored()).toEqual(await world.live());
    for (const asked of [["status"], ["status", "--json"], ["explain", idOf(1)], ["check"]])
      expect(await world.run(...asked)).toMatchObject({ code: 0 });
    expect((await world.status()).groups).toMatchObject({ total: 3, in_sync: 3 });
  },
);
