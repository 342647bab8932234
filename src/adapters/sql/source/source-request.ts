import { SyncError } from "../../../core/failure/sync-error.ts";
import type { Secret } from "../../../core/secret/secret.ts";
import { type Identifiers, nameOf, type TableName } from "../connection/identifiers.ts";
import { quotePlace, type TablePlace } from "../connection/table-place.ts";
import type { SessionTimeouts } from "../connection/wait-limits.ts";
import type { SensitiveTable } from "./sensitive-tables.ts";

/** Where the tenants are, as the config says it. */
export interface SourceOptions {
  readonly url: Secret;
  readonly applicationName: string;
  readonly timeouts: SessionTimeouts;
  /** Exactly one of `table` and `query`. */
  readonly table?: string | undefined;
  readonly query?: string | undefined;
  /** An SQL predicate on the table's rows. */
  readonly where?: string | undefined;
  /** An SQL predicate that is true of the rows whose tenants are gone. */
  readonly removedWhen?: string | undefined;
  /** An SQL predicate that is true of the rows that are ready. Every row is, if left out. */
  readonly readyWhen?: string | undefined;
  /** PostgreSQL: whether a policy that hides rows is an error (the default), or the visible rows are all that count. */
  readonly rowSecurity?: "error" | "filter" | undefined;
  /** The tables of this database that the source's user should not be able to read. None if left out. */
  readonly sensitiveTables?: (() => Promise<readonly SensitiveTable[]>) | undefined;
}

/** What one read asks of the source. */
export interface SourceRequest {
  /** For messages. */
  readonly name: string;
  /** The user that reads, and how a GRANT names it. */
  readonly user: string;
  readonly grantee: string;
  /** What stands after FROM. */
  readonly relation: string;
  /** The config's query, if the source is one. */
  readonly query?: string;
  /** Where the table is, if the source is one. */
  readonly place?: TablePlace;
  /** A predicate on the rows. */
  readonly where?: string | undefined;
  /** A predicate that is true of the rows whose tenants are gone. */
  readonly removedWhen?: string | undefined;
  /** A predicate that is true of the rows that are ready. */
  readonly readyWhen?: string | undefined;
  /** The id first. */
  readonly columns: readonly string[];
  /** Goes into every digest. */
  readonly seed: string;
}

export function sourceRequest(
  { url, table, query, where, removedWhen, readyWhen }: SourceOptions,
  { quoteTable, grantee }: Pick<Identifiers, "quoteTable"> & { grantee(user: string): string },
  columns: readonly string[],
  seed: string,
): SourceRequest {
  const name = decodeURIComponent(new URL(url.reveal()).username);
  const reader = name === "" ? { user: "the user", grantee: "…" } : { user: name, grantee: grantee(name) };
  const asked = { ...reader, removedWhen, readyWhen, columns, seed };
  if (table !== undefined) return { name: table, relation: quoteTable(table), where, ...asked };
  const bare = (query ?? "").replace(/[\s;]+$/, "");
  // The line break ends a comment that the query may end with.
  return { name: "source.query", relation: `(${bare}\n) AS tenants`, query: bare, ...asked };
}

/**
 * Names the table by the schema that `find` found it in. A table of the same name that appears in another schema during
 * the read then changes nothing. Rejects with CONFIG_TABLE_MOVED, before anything of the table is read, if it isn't
 * `before`, the table of the earlier reads.
 */
export async function withTablePlace(
  request: SourceRequest,
  { table }: SourceOptions,
  identifiers: Pick<Identifiers, "quoteName">,
  find: (name: TableName) => Promise<TablePlace | undefined>,
  before: string | null | undefined,
): Promise<SourceRequest> {
  const place = table === undefined ? undefined : await find(nameOf(table));
  if (!place) return request;
  const found = { ...request, place, relation: quotePlace(identifiers, place) };
  const now = tableOf(found);
  if (before != null && now !== null && before !== now) throw moved(before, now);
  return found;
}

/** For people: `schema.table`, or null for a query. */
export const tableOf = ({ place }: SourceRequest): string | null =>
  place ? `${place.schema}.${place.table}` : null;

const moved = (before: string, now: string): SyncError =>
  new SyncError(
    "CONFIG_TABLE_MOVED",
    `tenants were read from ${before}, and the same config now leads to ${now}`,
    {
      hint: "find out who made that table before anything else; nothing was read from it. Write the one that is meant in source.table, with its schema",
    },
  );
