import type { Connection } from "mysql2/promise";
import { expect, test } from "vitest";
import { lockHolders, type Process } from "../../../../src/adapters/mysql/connection/lock-holders.ts";

/** As on a MariaDB without the plugin that lists locks. */
const TELLS_NOTHING = {
  query: async () => {
    throw new Error("no such table");
  },
} as unknown as Connection;

const aSession = (Id: number, Time: number, overrides: Partial<Process> = {}): Process => ({
  Id,
  Time,
  User: "app",
  Host: "10.0.0.7",
  db: "crm",
  Command: "Sleep",
  State: "",
  ...overrides,
});

const ours = aSession(1, 5, { Command: "Query", State: "Waiting for table metadata lock" });

test("of those who may hold a lock, sessions in the same database come before any that have rested for longer", async () => {
  const elsewhere = [2, 3, 4].map((id) => aSession(id, 3_600, { db: id === 4 ? null : "shop" }));
  const said = await lockHolders(TELLS_NOTHING, ours, [ours, ...elsewhere, aSession(7, 1)]);
  expect(said).toContain("it may be session 7 (user app at 10.0.0.7, Sleep for 1 s) or session 2");
});

test("sessions in the same database and those that wait in other databases don't hide each other", async () => {
  const waiting = [2, 3, 4].map((id) => aSession(id, 60, { db: "shop", State: "Waiting for table flush" }));
  const resting = [6, 7, 8].map((id) => aSession(id, 1));
  const said = await lockHolders(TELLS_NOTHING, ours, [ours, ...waiting, ...resting]);
  expect(said).toMatch(/it may be session 6 .* or session 7 .* or session 2 /);
});

test("whoever has waited for longer comes first: all others wait for it", async () => {
  const alter = aSession(9, 60, { Command: "Query", State: "Waiting for table metadata lock" });
  const later = aSession(8, 2, { Command: "Query", State: "Waiting for table metadata lock" });
  const said = await lockHolders(TELLS_NOTHING, ours, [ours, later, aSession(7, 90), alter]);
  expect(said).toMatch(/it may be session 9 \(.*, and waits itself\) or session 7 /);
  expect(said).not.toContain("session 8");
});
