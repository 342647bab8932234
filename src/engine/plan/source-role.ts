import type { Warning } from "../../ports/observer.ts";
import type { SourceRole } from "../../ports/tenant-source.ts";

/** Warns if the role that reads the source can do more than read the tenants. */
export function roleWarnings({ name, secrets, openSchemas }: SourceRole): readonly Warning[] {
  const reads = {
    code: "SOURCE_ROLE_READS_TOKENS",
    message: `user ${name} of source.url can read ${secrets.join(" and ")}, and so can the owner of a view or function that the source reads`,
    hint: "give source.url a user of its own that can read the tenants alone: see docs/security.md#roles-and-rights",
  };
  const finds = openSchemas.map((schema) => ({
    code: "SOURCE_PATH_OPEN",
    message: `the SQL in \`source\` finds its functions and operators in schema ${schema} too, where others than user ${name} may create them and so run code as this user`,
    hint: `let only the schema's owner create in it (REVOKE CREATE ON SCHEMA ${schema} FROM …); or write each table in \`source\` as schema.table, and set the user's search_path to pg_catalog`,
  }));
  const all = secrets.length === 0 ? finds : [reads, ...finds];
  return all.map((warning) => ({ kind: "warning", ...warning, isStanding: true }));
}
