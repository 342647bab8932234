import { describe, expect, inject, test } from "vitest";
import { withServer } from "../support/databases/fresh-database.ts";
import { documentedSql } from "../support/documented-sql.ts";

const PAGES = ["docs/security.md", "docs/runbooks.md"];
/** The statements that check something. The pages' other statements set something up. */
const CHECK = /^(SELECT|SHOW)\b/;

const CASES = PAGES.flatMap((page) => (["postgres", "mysql"] as const).map((kind) => [page, kind] as const));

describe.each(CASES)("%s, %s", (page, kind) => {
  /** The statements with which the page's reader checks a server of this kind. */
  const statements = documentedSql(page, kind)
    .filter((sql) => CHECK.test(sql))
    .flatMap((sql) => sql.split(";").map((statement) => statement.trim()))
    .filter((statement) => statement !== "");

  test.skipIf(inject(`${kind}Url`) === null)("the server accepts each check", async () => {
    expect(statements.length).toBeGreaterThan(0);
    for (const statement of statements) {
      expect(statement).toMatch(CHECK);
      await withServer(kind, (query) => query(statement));
    }
  });
});
