import type { Catalog, CatalogTable } from "../proposal/catalog.ts";
import type { Proposal } from "../proposal/proposal.ts";
import { tlsParameters } from "../tls/database-tls.ts";

/** All that the config and the SQL statements are made of. */
export interface Setup {
  readonly dialect: Catalog["dialect"];
  /** The database with the tenants. */
  readonly database: string;
  readonly proposal: Proposal;
  /** Of the service. Undefined: a variable of the environment has it. */
  readonly baseUrl: string | undefined;
}

/** The role that reads the tenants, and the role that has the ledger and the tokens. */
export const READER = "groupsync_reader";
export const WRITER = "groupsync";

/** On PostgreSQL two schemas, on MySQL two databases. */
export const LEDGER_SCHEMA = "groupsync";
export const TOKEN_SCHEMA = "groupsync_tokens";
export const TOKEN_TABLE = "tokens";

/** Stands in the config in place of a schema id that only the operator knows. */
export const UNKNOWN_SCHEMA = "SCHEMA_ID";

/** The variables that the config refers to. */
export const VARIABLES = {
  source: "DATABASE_URL",
  own: "GROUPSYNC_DATABASE_URL",
  apiKey: "GROUPSYNC_API_KEY",
  baseUrl: "GROUPSYNC_BASE_URL",
} as const;

/** The columns that the config uses, and so the reader may read. */
export function usedColumns({
  id,
  name,
  mapping,
  properties,
  removals,
  change,
}: Proposal): readonly string[] {
  const used = [id, name, ...mapping, ...properties.proposed, ...removals, ...(change ? [change] : [])];
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

/**
 * The condition for `source.where` that leaves a few rows of the table, whichever. A join makes the id's index serve.
 * PostgreSQL is told whose operator to take: by the role's search_path it would also take one that somebody has made for
 * the type of the id.
 */
export function fewRows({ dialect, proposal }: Pick<Setup, "dialect" | "proposal">, count: number): string {
  const id = quoted(dialect, proposal.id.column.name);
  const table = quotedTable(dialect, proposal.table);
  const equals = dialect === "postgres" ? "OPERATOR(pg_catalog.=)" : "=";
  // MySQL takes no LIMIT right below an ANY.
  return `${id} ${equals} ANY (SELECT few.${id} FROM (SELECT ${id} FROM ${table} LIMIT ${count}) AS few)`;
}

/**
 * The url by which a user reaches a database of the server in `url`. It keeps host, port and TLS, and nothing else: what
 * else is there may be a secret. `user` stands in it as it is, with or without a password.
 */
export function userUrl(dialect: Setup["dialect"], url: string, user: string, database: string): string {
  const { protocol, host, searchParams } = new URL(url);
  const kept = dialect === "postgres" ? ["host", "port", ...tlsParameters(dialect)] : tlsParameters(dialect);
  const query = [...searchParams]
    .filter(([name]) => kept.includes(name))
    .map(([name, value]) => `${name}=${encodeURIComponent(value).replaceAll("%2F", "/")}`);
  const parameters = query.length > 0 ? `?${query.join("&")}` : "";
  return `${protocol}//${user}@${host || "localhost"}/${encodeURIComponent(database)}${parameters}`;
}
