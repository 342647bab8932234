import { expect, it } from "vitest";
import { roleWarnings } from "../../../src/engine/plan/read-differences.ts";

it("warns of each table that the role can read, at once, and of each schema that others write to", () => {
  const schemas = ["public", "shared"].map((name) => ({ name, remedy: `close ${name}` }));
  const secrets = ["ops.groups", "vault.tokens"];
  expect(roleWarnings({ name: "app", secrets, openSchemas: schemas })).toEqual([
    {
      kind: "warning",
      code: "SOURCE_ROLE_READS_TOKENS",
      message: expect.stringContaining("user app of source.url can read ops.groups and vault.tokens"),
      hint: expect.stringContaining("docs/security.md#roles-and-rights"),
      isStanding: true,
    },
    ...schemas.map(({ name, remedy }) => ({
      kind: "warning",
      code: "SOURCE_PATH_OPEN",
      message: expect.stringContaining(`in schema ${name} too, where others than user app`),
      hint: remedy,
      isStanding: true,
    })),
  ]);
});

it("does not warn about a role that can only read the tenants", () => {
  expect(roleWarnings({ name: "reader", secrets: [], openSchemas: [] })).toEqual([]);
});
