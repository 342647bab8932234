import { expect, it } from "vitest";
import { writePlanText } from "../../src/commands/plan-text.ts";
import { ABSENCE_TEXT } from "../../src/core/absence-text.ts";
import type { Missing } from "../../src/core/decide.ts";
import { RemovalTally } from "../../src/core/removal-tally.ts";
import { PlanBuilder } from "../../src/engine/plan-builder.ts";
import { aReading } from "../builders/groups.ts";
import { InMemoryLedger } from "../fakes/ledger.ts";
import { LedgerState } from "../fakes/ledger-state.ts";
import { openSpool } from "../fakes/spool.ts";

const HOUR = 3_600_000;

/** Beside so many tenants that are there. */
async function textOf(missing: Omit<Missing, "kind" | "user_group_id">, unchanged = 1): Promise<string> {
  const builder = new PlanBuilder(openSpool(), new RemovalTally({ baseUrl: null, approvals: 0 }));
  builder.addUnchanged(unchanged);
  builder.add(undefined, { kind: "missing", user_group_id: "acme", ...missing }, null);
  const plan = builder.build(
    { reading: aReading(), isWhole: true },
    { recent: 0, limit: { count: 3, percent: 10 } },
  );
  const ledger = new InMemoryLedger(
    new LedgerState(),
    async () => {},
    () => new Date(0),
  );
  const parts: string[] = [];
  await writePlanText(plan, { count: 0, now: [] }, ledger, (part) => parts.push(part), false);
  return parts.join("");
}

it.each<[string, Omit<Missing, "kind" | "user_group_id">, string]>([
  ["is deleted in the end", { absence: "absent", dueInMs: HOUR }, "deleted after 1 h 0 min more of this"],
  ["is kept", { absence: "absent", dueInMs: null }, "kept"],
  [
    "is held first",
    { absence: "estranged", dueInMs: HOUR },
    "held for approval after 1 h 0 min more of this",
  ],
])("a group whose tenant is gone %s", async (_, missing, end) => {
  const [line] = (await textOf(missing)).split("\n");
  expect(line).toBe(`= acme  ${ABSENCE_TEXT[missing.absence]}; ${end}`);
});

it("a group that is held by a read without a valid row is not missing too", async () => {
  const text = await textOf({ absence: "absent", dueInMs: HOUR }, 0);
  expect(text).toContain("\nPlan: 0 to create, 0 to update, 0 to delete, 0 unchanged, 1 held.\n");
});
