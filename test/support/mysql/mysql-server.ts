import mysql, { type PoolOptions } from "mysql2/promise";
import type { Row, ServerKind, Session } from "../databases/database-server.ts";

type TypeCast = Exclude<PoolOptions["typeCast"], boolean | undefined>;

/**
 * The server's sessions as a table. MySQL's information_schema.processlist fails if any session runs a statement with a
 * character beyond U+FFFF.
 */
export const PROCESS_LIST = "/*!80022 performance_schema.*/ /*M! information_schema.*/ processlist";

export const mysqlServer: ServerKind = {
  connect(url) {
    const pool = mysql.createPool({
      uri: url,
      connectionLimit: 1,
      // As pg does: several statements at once, 64 bits as text, times as what they are in UTC.
      multipleStatements: true,
      supportBigNumbers: true,
      bigNumberStrings: true,
      timezone: "Z",
      typeCast: asPgDoes,
      // Not in the mode of a stock server, and mysql2's default.
      flags: ["-IGNORE_SPACE"],
    });
    // "names" in double quotes and || as in PostgreSQL: so one statement can do for both.
    pool.pool.on("connection", (connection) => {
      connection.query(
        "SET time_zone = '+00:00', sql_mode = CONCAT_WS(',', @@sql_mode, 'ANSI_QUOTES', 'PIPES_AS_CONCAT')",
      );
    });
    return {
      query: async <R extends Row>(text: string, values: readonly unknown[] = []) => {
        const [rows, fields] = await pool.query(withValues(text, values));
        const isOneSetOfRows = fields?.[0] && !Array.isArray(fields[0]);
        return isOneSetOfRows ? (rows as R[]) : [];
      },
      reset: async () => {
        const connection = await pool.getConnection();
        connection.destroy();
      },
      end: () => pool.end(),
    };
  },
  async create(server, database) {
    // The server's default may be anything.
    await server(`CREATE DATABASE ${database} CHARACTER SET utf8mb4`);
  },
  async empty(query, database) {
    await query(
      `DROP DATABASE ${database}; CREATE DATABASE ${database} CHARACTER SET utf8mb4; USE ${database}`,
    );
  },
  async remove(server, database) {
    await server(`DROP DATABASE ${database}`);
  },
  sessionsIn: (query, database) =>
    query<Row & Session>(
      `SELECT concat(user, ', connection ', id) AS client, concat_ws(' ', command, nullif(state, '')) AS state,
         coalesce(info, '(no longer known)') AS query
       FROM ${PROCESS_LIST} WHERE db = $1 AND id <> connection_id() ORDER BY id`,
      [database],
    ),
};

/** A result with fewer, its sign included, fits into 32 bits. */
const MOST_DIGITS = 11;

const asPgDoes: TypeCast = (field, next) => {
  const value: unknown = next();
  if (value === null) return value;
  // MariaDB's JSON is a text with a note.
  if (field.extendedFormat === "json" && typeof value === "string") return JSON.parse(value);
  switch (field.type) {
    case "TINY":
      return field.length === 1 ? value !== 0 : value;
    case "LONGLONG":
      // Results that MySQL computes, such as 1 or a = b, have 64 bits. On MariaDB and PostgreSQL they have 32, or are booleans.
      return field.table === "" && field.length < MOST_DIGITS ? Number(value) : value;
    case "STRING":
    case "VAR_STRING":
    case "VARCHAR":
      return Buffer.isBuffer(value) ? value.toString("utf8") : value;
    default:
      return value;
  }
};

/** A quoted text, name or comment, in which a `$1` is no placeholder; or a placeholder. */
const QUOTED_OR_PLACEHOLDER =
  /'(?:[^'\\]|\\.|'')*'|"(?:[^"\\]|\\.|"")*"|`[^`]*`|--\s[^\n]*|#[^\n]*|\/\*.*?\*\/|\$(\d+)/gs;

/** Puts values in the place of PostgreSQL's placeholders. An object is sent as JSON, as pg does. */
function withValues(text: string, values: readonly unknown[]): string {
  return text.replace(QUOTED_OR_PLACEHOLDER, (found, number: string | undefined) => {
    if (number === undefined) return found;
    const place = Number(number) - 1;
    if (!(place in values)) throw new Error(`there is no value for ${found}`);
    return literal(values[place]);
  });
}

function literal(value: unknown): string {
  switch (typeof value) {
    case "string":
    case "number":
    case "bigint":
    case "boolean":
      return mysql.escape(value);
    case "object":
      if (value instanceof Date || Buffer.isBuffer(value)) return mysql.escape(value, false, "Z");
      return value === null ? "NULL" : mysql.escape(JSON.stringify(value));
    default:
      throw new Error(`a ${typeof value} is no SQL value`);
  }
}
