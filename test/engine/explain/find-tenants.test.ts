import { expect, test } from "vitest";
import { findTenants } from "../../../src/engine/explain/find-tenants.ts";
import { aFailed, anApplied, anApply } from "../../builders/groups.ts";
import { carryOut, LATER, leave, type Opened, opened } from "../../contracts/ledger/rig.ts";
import { inMemoryPlace } from "../../fakes/ledger/ledger.ts";

const make = (at: Opened, user_group_id: string, serviceName: string): Promise<void> =>
  carryOut(at, anApplied({ change: anApply({ user_group_id }), serviceName }));

test("those whose ids begin with the text come first, and everybody comes once", async () => {
  const at = await opened(inMemoryPlace);
  await make(at, "1", "Acme");
  await make(at, "acme-2", "Acme too");
  await make(at, "ACME-3", "Other");
  await make(at, "4", "Another");
  const found = await findTenants(" Acme", at.ledger);
  expect(found.map(({ user_group_id, name }) => [user_group_id, name])).toEqual([
    ["acme-2", "Acme too"],
    ["ACME-3", "Other"],
    ["1", "Acme"],
  ]);
  for (const nothing of ["", " \t", "\u0301", "zebra"])
    expect(await findTenants(nothing, at.ledger)).toEqual([]);
});

test("what is not done for them is told", async () => {
  const at = await opened(inMemoryPlace);
  for (const id of ["a1", "a2", "a3"]) await make(at, id, "Acme");
  await carryOut(at, aFailed({ change: anApply({ user_group_id: "a2" }) }), LATER);
  await leave(at, "absent", { ms: 0, reads: 1 }, ["a3"]);
  expect((await findTenants("a", at.ledger)).map(({ state }) => state)).toEqual([
    "in sync",
    "failing change",
    "missing",
  ]);
});

test("no more are read than show that there are more than ten", async () => {
  const at = await opened(inMemoryPlace);
  for (let n = 10; n < 40; n++) await make(at, `t${n}`, "Acme");
  expect(await findTenants("t", at.ledger)).toHaveLength(11);
  expect(await findTenants("acme", at.ledger)).toHaveLength(11);
});
