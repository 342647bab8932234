import { describe, expect, it } from "vitest";
import { load, MINIMAL, problemsOf, withKeys } from "../config-file.ts";

describe("sections", () => {
  it("may have a token table with the name of the source's table in another database", () => {
    const { tokens } = load(withKeys({ tokens: { table: "customers", url: "postgres://localhost/tokens" } }));
    expect(tokens).toMatchObject([{ table: "customers", rows: "own" }]);
  });

  it.each<[string, object, string]>([
    [
      "deletion.when: flagged without removed_when",
      { deletion: { when: "flagged" } },
      "source.removed_when: is missing; with deletion.when: flagged, write the condition",
    ],
    [
      "a token table that is the source, by its url",
      { tokens: { table: "customers", url: MINIMAL.source.url } },
      "tokens.table: is the table of the tenants",
    ],
    [
      "a token table that is the source",
      { tokens: { table: "customers" } },
      "tokens.table: is the table of the tenants",
    ],
    [
      "a schema on MySQL",
      { source: { url: "mysql://localhost/crm" }, ledger: { table_prefix: "ops.gs_" } },
      "ledger.table_prefix: has a schema, which MySQL has not",
    ],
    [
      "a channel on MySQL",
      { tokens: { url: "mysql://localhost/tokens", notify: "tokens" } },
      "tokens.notify: is a channel of PostgreSQL",
    ],
    [
      "an owner on MySQL",
      { tokens: { url: "mysql://localhost/tokens", owner: "app" } },
      "tokens.owner: is a role of PostgreSQL",
    ],
  ])("cannot have %s", (_, keys, problem) => {
    expect(problemsOf(withKeys(keys))).toContain(`1 problem:\n  line 1  ${problem}`);
  });
});
