import { SyncError } from "../../../core/failure/sync-error.ts";

interface IdentifierRules {
  /** For messages. */
  readonly database: string;
  /** Encloses a name in SQL, and is doubled inside a name. */
  readonly quote: '"' | "`";
  /** Whether the database keeps a name of this length in full. */
  readonly fits: (name: string) => boolean;
  /** How long a name may be, for messages. */
  readonly limit: string;
}

/** Quotes names for one kind of database. Both methods throw CONFIG_NAME. */
export interface Identifiers {
  quoteName(name: string): string;
  /**
   * Quotes a table as the config writes it: `customers`, `public.customers`, or with parts in double quotes or in
   * backticks, `"My Schema".customers`. Keeps upper and lower case as written.
   */
  quoteTable(table: string): string;
}

const { source: NAME } = /"(?:[^"]|"")+"|`(?:[^`]|``)+`|[^"`.\s]+/;
const TABLE = new RegExp(`^\\s*(?:(${NAME})\\s*\\.\\s*)?(${NAME})\\s*$`);

export function identifiersOf({ database, quote, fits, limit }: IdentifierRules): Identifiers {
  const quoteName = (name: string): string => {
    if (name === "" || name.includes("\0") || !fits(name)) {
      throw new SyncError("CONFIG_NAME", `${JSON.stringify(name)} can't be a name in ${database}`, {
        hint: `a name has ${limit}`,
      });
    }
    return `${quote}${name.replaceAll(quote, quote + quote)}${quote}`;
  };
  return { quoteName, quoteTable: (table) => partsOf(table).map(quoteName).join(".") };
}

/** The parts of a table name from the config: the schema, if it is written, and the table. */
function partsOf(table: string): string[] {
  const found = TABLE.exec(table)?.slice(1);
  if (!found) {
    throw new SyncError("CONFIG_NAME", `${JSON.stringify(table)} is not a table name`, {
      hint: "write table or schema.table, with odd names in double quotes",
    });
  }
  return found.flatMap((part) => (part === undefined ? [] : [unquoted(part)]));
}

/** A table name from the config. */
export interface TableName {
  readonly schema: string | undefined;
  readonly table: string;
}

export function nameOf(table: string): TableName {
  const parts = partsOf(table);
  return { schema: parts.at(-2), table: parts.at(-1) ?? "" };
}

function unquoted(part: string): string {
  const quote = part.charAt(0);
  return /["`]/.test(quote) ? part.slice(1, -1).replaceAll(quote + quote, quote) : part;
}
