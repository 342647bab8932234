import { expect, test } from "vitest";
import { exampleText } from "../../../src/commands/output/init.ts";
import { aDesiredTenant, aRejectedTenant } from "../../builders/groups.ts";

test("the examples are the first rows, with a rejected one if there is one", () => {
  const good = ["a", "b", "c", "d"].map((id) => aDesiredTenant({ user_group_id: id }));
  const bad = aRejectedTenant({ user_group_id: "bad" });
  const idsOf = (...tenants: Parameters<typeof exampleText>[0]) =>
    [...exampleText(tenants).matchAll(/^ {2}[+!] (\w+)/gm)].map(([, id]) => id);
  expect(idsOf(...good)).toEqual(["a", "b", "c"]);
  expect(idsOf(...good, bad, aRejectedTenant({ user_group_id: "worse" }))).toEqual(["a", "b", "bad"]);
  expect(idsOf(bad, ...good)).toEqual(["bad", "a", "b"]);
  expect(exampleText([])).toContain("There is no row yet");
});
