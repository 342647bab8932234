import { readFileSync } from "node:fs";
import { describe, expect, inject, test } from "vitest";
import { withServer } from "../support/fresh-database.ts";

const page = readFileSync(new URL("../../docs/security.md", import.meta.url), "utf8");
const NAME = { postgres: "PostgreSQL", mysql: "MySQL, MariaDB" };

describe.each(["postgres", "mysql"] as const)("%s", (kind) => {
  /** What the page has an administrator ask a server of this kind. */
  const statements = [...page.matchAll(/^```sql\n-- (.+)\n([^`]*)^```$/gm)]
    .filter(([, name]) => name === NAME[kind])
    .flatMap(([, , text = ""]) => text.split(";").map((statement) => statement.trim()))
    .filter((statement) => statement !== "");

  test.skipIf(inject(`${kind}Url`) === null)("understands each check of the security page", async () => {
    expect(statements.length).toBeGreaterThan(1);
    for (const statement of statements) {
      expect(statement).toMatch(/^(SELECT|SHOW)\b/);
      await withServer(kind, (query) => query(statement));
    }
  });
});
