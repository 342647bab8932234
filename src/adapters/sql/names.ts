import { SyncError } from "../../core/errors.ts";

export interface NameRules {
  /** For messages. */
  readonly database: string;
  /** Stands around a name in SQL; doubled within one. */
  readonly quote: '"' | "`";
  /** Whether the database keeps a name of this length whole. */
  readonly fits: (name: string) => boolean;
  /** How long a name may be, for messages. */
  readonly limit: string;
}

/** How one kind of database wants its names quoted. Both throw CONFIG_NAME. */
export interface Names {
  quoteName(name: string): string;
  /**
   * Quotes a table as the config writes it: `customers`, `public.customers`, or with parts in double quotes or in
   * backticks, `"My Schema".customers`. Names are taken as they are written, without folding them to lower case.
   */
  quoteTable(table: string): string;
}

const { source: NAME } = /"(?:[^"]|"")+"|`(?:[^`]|``)+`|[^"`.\s]+/;
const TABLE = new RegExp(`^\\s*(?:(${NAME})\\s*\\.\\s*)?(${NAME})\\s*$`);

export function namesOf({ database, quote, fits, limit }: NameRules): Names {
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

/** The names in a table as the config writes it: the table's, with its schema's in front where it has one. */
function partsOf(table: string): string[] {
  const found = TABLE.exec(table)?.slice(1);
  if (!found) {
    throw new SyncError("CONFIG_NAME", `${JSON.stringify(table)} is not a table name`, {
      hint: "write table or schema.table, with odd names in double quotes",
    });
  }
  return found.flatMap((part) => (part === undefined ? [] : [unquoted(part)]));
}

/** A table by its name, and by its schema's where it is written with one. */
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
