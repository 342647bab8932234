import { readFileSync } from "node:fs";
import type { DatabaseKind } from "./databases/fresh-database.ts";

/** What a page calls each kind. */
export const KIND_NAMES: Readonly<Record<DatabaseKind, string>> = {
  postgres: "PostgreSQL",
  mysql: "MySQL, MariaDB",
};

/** The blocks of SQL on a page that are for this kind of database, by the comment in their first line. */
export function documentedSql(page: string, kind: DatabaseKind): string[] {
  const text = readFileSync(new URL(`../../${page}`, import.meta.url), "utf8");
  return [...text.matchAll(/^```sql\n-- (.+)\n([^`]*)^```$/gm)]
    .filter(([, name]) => name === KIND_NAMES[kind])
    .map(([, , sql = ""]) => sql);
}
