import type { Catalog, CatalogTable } from "./catalog.ts";
import type { Proposal } from "./proposal.ts";

/** All that the config and the SQL statements are made of. */
export interface Setup {
  readonly dialect: Catalog["dialect"];
  /** The database with the tenants. */
  readonly database: string;
  readonly proposal: Proposal;
  /** Of the service. Undefined: a variable of the environment has it. */
  readonly baseUrl: string | undefined;
  /** Where the config finds its secrets: in variables of a shell, or in files that a container mounts. */
  readonly place: "shell" | "container";
  /** MySQL: the host from which both accounts log in, such as `10.20.%`. Undefined: any. */
  readonly accountHost: string | undefined;
}

/** What the config reads from outside, each in a variable or in a file of the folder that a container mounts. */
export const SECRETS = {
  apiKey: { variable: "GROUPSYNC_API_KEY", file: "api-key" },
  sourceUrl: { variable: "DATABASE_URL", file: "source-url" },
  databaseUrl: { variable: "GROUPSYNC_DATABASE_URL", file: "database-url" },
} as const;
/** In a container. The files in deploy/ mount it. */
export const SECRETS_FOLDER = "/run/secrets/groupsync";

/** The role that reads the tenants, and the role that has the ledger and the tokens. */
export const READER = "groupsync_reader";
export const WRITER = "groupsync";

/** On PostgreSQL two schemas, on MySQL two databases. */
export const LEDGER_SCHEMA = "groupsync";
export const TOKEN_SCHEMA = "groupsync_tokens";
export const TOKEN_TABLE = "tokens";

/** Stands in the config in place of a schema id that only the operator knows. */
export const UNKNOWN_SCHEMA = "SCHEMA_ID";

/** The columns that the config uses, and so the reader may read. */
export function usedColumns({
  id,
  name,
  mapping,
  properties,
  removals,
  change,
}: Proposal): readonly string[] {
  const used = [id, name, ...mapping, ...properties, ...removals, ...(change ? [change] : [])];
  return [...new Set(used.map(({ column }) => column.name))];
}

/** A name in SQL, in quotes. */
export function quoted(dialect: Setup["dialect"], name: string): string {
  const quote = dialect === "postgres" ? '"' : "`";
  return `${quote}${name.replaceAll(quote, quote + quote)}${quote}`;
}

/** A table in SQL, in quotes and with its schema. */
export const quotedTable = (
  dialect: Setup["dialect"],
  { schema, name }: Pick<CatalogTable, "schema" | "name">,
): string => `${quoted(dialect, schema)}.${quoted(dialect, name)}`;
