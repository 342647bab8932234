import type { DatabaseKind } from "../support/databases/fresh-database.ts";
import { LEDGER_TABLES } from "./ledger-tables.ts";

/** A missing right: what the program says then, and the statements that grant the right. */
export interface MissingRight {
  readonly said: readonly string[];
  readonly mend: readonly string[];
}

/** The words of each database's own errors. */
interface Complaints {
  readonly wrongPassword: (role: string) => string;
  readonly noSuchTable: string;
  readonly wrongSql: string;
  /** All that a role without any needs, one after the other; the ledger's tables are called LEDGER_ELSEWHERE. */
  readonly missingRights: (role: string) => readonly MissingRight[];
}

export const COMPLAINTS: Readonly<Record<DatabaseKind, Complaints>> = {
  postgres: {
    wrongPassword: (role) => `password authentication failed for user "${role}"`,
    noSuchTable: "relation",
    wrongSql: "operator",
    missingRights: (role) => [
      {
        said: ["there is no schema ops", `CREATE SCHEMA "ops" AUTHORIZATION "${role}"`],
        // Before PostgreSQL 15 everybody may create tables in public.
        mend: ["CREATE SCHEMA ops", "REVOKE ALL ON SCHEMA public FROM public"],
      },
      {
        said: [
          `user ${role} may not create tables in schema ops`,
          `GRANT USAGE, CREATE ON SCHEMA "ops" TO "${role}"`,
        ],
        mend: [`GRANT USAGE, CREATE ON SCHEMA ops TO ${role}`, `GRANT USAGE ON SCHEMA public TO ${role}`],
      },
      {
        said: [
          `user ${role} may not create tables in schema public`,
          `GRANT USAGE, CREATE ON SCHEMA "public" TO "${role}"`,
        ],
        mend: [
          "CREATE TABLE groupsync_tokens (user_group_id text PRIMARY KEY, token text, updated_at timestamptz)",
          `ALTER TABLE groupsync_tokens OWNER TO ${role}`,
          `REVOKE INSERT, UPDATE, DELETE ON groupsync_tokens FROM ${role}`,
        ],
      },
      {
        said: [
          `user ${role} may not write tokens to groupsync_tokens`,
          `GRANT SELECT, INSERT, UPDATE, DELETE ON "public"."groupsync_tokens" TO "${role}"`,
        ],
        mend: [`GRANT SELECT, INSERT, UPDATE, DELETE ON groupsync_tokens TO ${role}`],
      },
      {
        said: ["permission denied for table customers", `GRANT SELECT ON "public"."customers" TO "${role}"`],
        mend: [`GRANT SELECT ON customers TO ${role}`],
      },
    ],
  },
  mysql: {
    wrongPassword: (role) => `Access denied for user '${role}'@`,
    noSuchTable: "Table",
    wrongSql: "You have an error in your SQL syntax",
    missingRights: (role) => [
      {
        said: [
          `user ${role}@% may not create the ledger's tables in database`,
          "GRANT SELECT, INSERT, UPDATE, DELETE, CREATE, ALTER, INDEX ON ",
        ],
        mend: LEDGER_TABLES.map(
          (table) => `GRANT CREATE, SELECT, INSERT, UPDATE, DELETE ON ops_groupsync_${table} TO ${role}`,
        ),
      },
      {
        said: [`ALTER command denied to user '${role}'@`, "ops_groupsync_groups", "grant the user the right"],
        mend: LEDGER_TABLES.map((table) => `GRANT CREATE, ALTER, INDEX ON ops_groupsync_${table} TO ${role}`),
      },
      {
        said: [`SELECT command denied to user '${role}'@`, "groupsync_tokens", "grant the user the right"],
        mend: [`GRANT CREATE, SELECT ON groupsync_tokens TO ${role}`],
      },
      {
        said: [
          `user ${role}@% may not write tokens to groupsync_tokens`,
          ".`groupsync_tokens` TO ",
          `\`${role}\`@\`%\``,
        ],
        mend: [`GRANT INSERT, UPDATE, DELETE ON groupsync_tokens TO ${role}`],
      },
      {
        said: ["permission denied for table customers", "GRANT SELECT ON ", `TO \`${role}\`@\`%\``],
        mend: [`GRANT SELECT ON customers TO ${role}`],
      },
    ],
  },
};
