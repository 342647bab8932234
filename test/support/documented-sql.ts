import type { DatabaseKind } from "./databases/fresh-database.ts";
import { blocksIn, pageText } from "./pages.ts";

/** What a page calls each kind. */
export const KIND_NAMES: Readonly<Record<DatabaseKind, string>> = {
  postgres: "PostgreSQL",
  mysql: "MySQL, MariaDB",
};

/** The blocks of SQL on a page that are for this kind of database, by the comment in their first line. */
export function documentedSql(page: string, kind: DatabaseKind): string[] {
  const head = `-- ${KIND_NAMES[kind]}\n`;
  return blocksIn(pageText(page), "sql").flatMap((sql) =>
    sql.startsWith(head) ? [sql.slice(head.length)] : [],
  );
}
