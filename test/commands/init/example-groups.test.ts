import { expect, test } from "vitest";
import { examplesAmong } from "../../../src/commands/init/example-groups.ts";
import { aDesiredTenant, aRejectedTenant } from "../../builders/groups.ts";

test("the examples are the first rows, with a rejected one if there is one", () => {
  const good = ["a", "b", "c", "d"].map((id) => aDesiredTenant({ user_group_id: id }));
  const bad = aRejectedTenant({ user_group_id: "bad" });
  const idsOf = (...tenants: Parameters<typeof examplesAmong>[0]) =>
    examplesAmong(tenants).map(({ user_group_id }) => user_group_id);
  expect(idsOf(...good)).toEqual(["a", "b", "c"]);
  expect(idsOf(...good, bad, aRejectedTenant({ user_group_id: "worse" }))).toEqual(["a", "b", "bad"]);
  expect(idsOf(bad, ...good)).toEqual(["bad", "a", "b"]);
  expect(idsOf()).toEqual([]);
});
