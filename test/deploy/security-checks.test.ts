import { readFileSync } from "node:fs";
import { describe, expect, inject, test } from "vitest";
import { withServer } from "../support/databases/fresh-database.ts";

const page = readFileSync(new URL("../../docs/security.md", import.meta.url), "utf8");
const NAME = { postgres: "PostgreSQL", mysql: "MySQL, MariaDB" };
/** The statements that check something. The page's other statements set something up. */
const CHECK = /^(SELECT|SHOW)\b/;

describe.each(["postgres", "mysql"] as const)("%s", (kind) => {
  /** The statements with which the page's reader checks a server of this kind. */
  const statements = [...page.matchAll(/^```sql\n-- (.+)\n([^`]*)^```$/gm)]
    .filter(([, name, text = ""]) => name === NAME[kind] && CHECK.test(text))
    .flatMap(([, , text = ""]) => text.split(";").map((statement) => statement.trim()))
    .filter((statement) => statement !== "");

  test.skipIf(inject(`${kind}Url`) === null)("accepts each check of the security page", async () => {
    expect(statements.length).toBeGreaterThan(1);
    for (const statement of statements) {
      expect(statement).toMatch(CHECK);
      await withServer(kind, (query) => query(statement));
    }
  });
});
