import { names } from "./names.ts";

const ON_TABLE = /^([A-Z][A-Z ,]*) command denied to user '([^']*)'@'[^']*' for table (\S+)$/;
const ON_COLUMN = /^([A-Z]+) command denied to user '([^']*)'@'[^']*' for column '.*' in table '([^']+)'$/;
const ON_ROUTINE = /^execute command denied to user '([^']*)'@'[^']*' for routine '([^']+)'$/;

/** The GRANT that is missing, by what the server says; undefined where it says it otherwise. */
export function missingGrant(message: string): string | undefined {
  const [, right, user, table] = ON_TABLE.exec(message) ?? ON_COLUMN.exec(message) ?? [];
  if (right && user !== undefined && table) return `GRANT ${right} ON ${quoted(table)} ${to(user)}`;
  const [, caller, routine] = ON_ROUTINE.exec(message) ?? [];
  return caller !== undefined && routine
    ? `GRANT EXECUTE ON FUNCTION ${routine.split(".").map(names.quoteName).join(".")} ${to(caller)}`
    : undefined;
}

/** MariaDB quotes the name, with its database in front; MySQL says the table's alone. */
const quoted = (table: string): string =>
  table.startsWith("`") ? table : names.quoteName(table.replace(/^'|'$/g, ""));

/** The host in the message is the one that the user came from, and not the one that it was created for. */
const to = (user: string): string =>
  `TO ${names.quoteName(user)}@\`%\`, or whichever host the user was created for`;
