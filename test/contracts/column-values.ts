import type { Json } from "../../src/core/text/json.ts";
import type { DatabaseKind } from "../support/databases/fresh-database.ts";

/** One value that a row rejects, with the reason that the column gives. */
export interface RejectedValue {
  readonly rejected: string;
}

/** A column type, the SQL for a value in it, and what becomes of that. */
export type Example = readonly [type: string, literal: string, becomes: Json | RejectedValue];

/** A line of the table of property types in docs/rows.md, and values that show it. */
export interface ColumnLine {
  readonly types: Readonly<Record<DatabaseKind, string>>;
  /** What the page says that it becomes. */
  readonly json: string;
  readonly examples: Readonly<Record<DatabaseKind, readonly Example[]>>;
  /** In MariaDB alone. */
  readonly mariadb?: readonly Example[];
}

const BEYOND = "9007199254740992";

/** A value that both databases hold, in each other's words; the JSON stands once. */
const both = (
  postgresType: string,
  mysqlType: string,
  literal: string,
  becomes: Json | RejectedValue,
): Record<DatabaseKind, Example> => ({
  postgres: [postgresType, literal, becomes],
  mysql: [mysqlType, literal, becomes],
});

const examples = (
  ...pairs: readonly Partial<Record<DatabaseKind, Example>>[]
): Record<DatabaseKind, readonly Example[]> => ({
  postgres: pairs.flatMap(({ postgres }) => (postgres ? [postgres] : [])),
  mysql: pairs.flatMap(({ mysql }) => (mysql ? [mysql] : [])),
});

const onMysql = (...example: Example): { readonly mysql: Example } => ({ mysql: example });
const onPostgres = (...example: Example): { readonly postgres: Example } => ({ postgres: example });

const rejected = (reason: string): RejectedValue => ({ rejected: reason });

/** What the sources make of each type of column. The page has these lines, in this order. */
export const COLUMN_LINES: readonly ColumnLine[] = [
  {
    types: { postgres: "boolean", mysql: "TINYINT(1), that is BOOLEAN; BIT(1)" },
    json: "`true`, `false`; a TINYINT(1) that is neither 0 nor 1: a number",
    examples: examples(
      both("boolean", "boolean", "true", true),
      both("boolean", "boolean", "false", false),
      onMysql("tinyint(1)", "1", true),
      onMysql("tinyint(1)", "2", 2),
      onMysql("tinyint(1)", "-1", -1),
      onMysql("bit(1)", "b'1'", true),
      onMysql("bit(1)", "b'0'", false),
    ),
  },
  {
    types: {
      postgres: "smallint, integer, bigint",
      mysql: "TINYINT to BIGINT, also UNSIGNED or ZEROFILL; YEAR",
    },
    json: "number; beyond ±(2^53−1) a string",
    examples: examples(
      both("smallint", "smallint", "-32768", -32768),
      both("integer", "int", "2147483647", 2147483647),
      both("bigint", "bigint", "9007199254740991", 9007199254740991),
      both("bigint", "bigint", BEYOND, BEYOND),
      both("bigint", "bigint", "-9223372036854775808", "-9223372036854775808"),
      onMysql("tinyint unsigned", "255", 255),
      onMysql("bigint unsigned", "18446744073709551615", "18446744073709551615"),
      onMysql("bigint(20) zerofill", BEYOND, BEYOND),
      onMysql("year", "2026", 2026),
    ),
  },
  {
    types: { postgres: "real, double precision", mysql: "FLOAT, DOUBLE" },
    json: "number, in its shortest exact form; NaN and infinity reject the row",
    examples: examples(
      both("real", "float", "0.1", 0.1),
      both("real", "float", "2566562.25", 2566562.2),
      both("real", "float", "74011616", 74011616),
      both("real", "float", "3.4028235e38", 3.4028235e38),
      both("real", "float", "-1.17549435e-38", -1.1754944e-38),
      both("double precision", "double", "0.30000000000000004", 0.30000000000000004),
      both("double precision", "double", "5e-324", 5e-324),
      both("double precision", "double", "123456789012345680000", 123456789012345680000),
      onPostgres("double precision", "'NaN'", rejected("holds NaN")),
      onPostgres("real", "'Infinity'", rejected("holds Infinity")),
    ),
  },
  {
    types: { postgres: "numeric", mysql: "DECIMAL" },
    json: "string, every digit kept",
    examples: examples(
      both("numeric(10, 2)", "decimal(10, 2)", "12.5", "12.50"),
      both(
        "numeric(30, 3)",
        "decimal(30, 3)",
        "123456789012345678901234567.125",
        "123456789012345678901234567.125",
      ),
      onMysql("decimal(10, 2) zerofill", "12.5", "12.50"),
    ),
  },
  {
    types: { postgres: "timestamp, timestamptz", mysql: "DATETIME, TIMESTAMP" },
    json: "`2026-03-01T09:30:00.000Z`, in UTC; with microseconds if the value has any",
    examples: examples(
      both("timestamp", "datetime(6)", "'2026-03-01 09:30:00.5'", "2026-03-01T09:30:00.500Z"),
      both("timestamp", "datetime(4)", "'2026-03-01 09:30:00.1234'", "2026-03-01T09:30:00.1234Z"),
      both("timestamp", "datetime(6)", "'9999-12-31 23:59:59.999999'", "9999-12-31T23:59:59.999999Z"),
      both("timestamp", "datetime", "'0001-01-01 00:00:00'", "0001-01-01T00:00:00.000Z"),
      // The sessions that insert are in UTC, those of the source must be.
      both(
        "timestamptz",
        "timestamp(6) null",
        "'2026-03-29 00:30:00.123456+00:00'",
        "2026-03-29T00:30:00.123456Z",
      ),
      onMysql(
        "datetime",
        "'0000-00-00 00:00:00'",
        rejected("holds 0000-00-00 00:00:00, which is no date of the years 1 to 9999"),
      ),
      onMysql("timestamp null", "'0000-00-00'", rejected("holds 0000-00-00 00:00:00")),
      onMysql("datetime", "'0000-01-01 00:00:00'", rejected("holds 0000-01-01 00:00:00")),
      onPostgres("timestamptz", "'infinity'", rejected("holds infinity")),
    ),
  },
  {
    types: { postgres: "date", mysql: "DATE" },
    json: "`2026-03-01`",
    examples: examples(
      both("date", "date", "'2026-03-01'", "2026-03-01"),
      both("date", "date", "'0001-01-01'", "0001-01-01"),
      both("date", "date", "'9999-12-31'", "9999-12-31"),
      onMysql("date", "'0000-00-00'", rejected("holds 0000-00-00")),
      onMysql("date", "'2026-00-01'", rejected("holds 2026-00-01")),
      onMysql("date", "'2026-02-31'", rejected("holds 2026-02-31")),
      onPostgres("date", "'infinity'", rejected("holds infinity")),
    ),
  },
  {
    types: { postgres: "time", mysql: "TIME" },
    json: "`09:30:00`, with a fraction if the value has one",
    examples: examples(
      both("time", "time", "'09:30:00'", "09:30:00"),
      both("time", "time(6)", "'09:30:00.5'", "09:30:00.5"),
      onMysql("time", "'-838:59:59'", "-838:59:59"),
    ),
  },
  {
    types: { postgres: "json, jsonb, arrays", mysql: "JSON" },
    json: "as they are; integers beyond ±(2^53−1) as strings",
    examples: examples(
      both("jsonb", "json", `'{"a": [1.5, null, true], "b": "ü"}'`, { a: [1.5, null, true], b: "ü" }),
      both("json", "json", `'[9007199254740993, 1]'`, ["9007199254740993", 1]),
      both("json", "json", `'"text"'`, "text"),
      both("jsonb", "json", "'null'", null),
      onPostgres("integer[]", "'{1,NULL}'", [1, null]),
    ),
  },
  {
    types: { postgres: "char(n)", mysql: "CHAR(n)" },
    json: "string without the blanks at its end",
    examples: examples(
      both("char(5)", "char(5)", "'x  '", "x"),
      both("char(5)", "char(5)", "'x\t'", "x\t"),
      onMysql("char(5) character set latin1", "'é '", "é"),
    ),
  },
  {
    types: { postgres: "bit(n)", mysql: "BIT(n) with n > 1" },
    json: "string of `0` and `1`",
    examples: examples(
      both("bit(8)", "bit(8)", "b'00000101'", "00000101"),
      onMysql(
        "bit(64)",
        "b'1111111111111111111111111111111111111111111111111111111111111111'",
        "1".repeat(64),
      ),
    ),
  },
  {
    types: { postgres: "bytea", mysql: "BINARY, VARBINARY, BLOB, geometry" },
    json: "rejects the row",
    examples: examples(
      onPostgres("bytea", "'\\x00ff'", rejected("holds bytes")),
      onMysql("varbinary(9)", "x'00ff'", rejected("holds bytes")),
      onMysql("mediumblob", "''", rejected("holds bytes")),
      onMysql("varchar(9) character set binary", "'x'", rejected("holds bytes")),
      onMysql("point", "ST_GeomFromText('POINT(1 2)')", rejected("holds bytes")),
    ),
  },
  {
    types: {
      postgres: "everything else: text, varchar, uuid, enum, inet …",
      mysql: "everything else: VARCHAR, TEXT, ENUM, SET, UUID, INET6 …",
    },
    json: "string, as the database writes it",
    examples: examples(
      both("text", "text", "'Zürich 😀'", "Zürich 😀"),
      both("text", "text", "''", ""),
      both("varchar(9)", "varchar(9)", "'x  '", "x  "),
      onMysql("varchar(9) character set latin1 collate latin1_bin", "'é€'", "é€"),
      onMysql("text character set utf16", "'Zürich 😀'", "Zürich 😀"),
      onMysql("enum('good', 'very bad')", "'very bad'", "very bad"),
      onMysql("set('a', 'b', 'c')", "'c,a'", "a,c"),
      onPostgres("inet", "'10.0.0.0/8'", "10.0.0.0/8"),
    ),
    mariadb: [
      ["uuid", "'A0EEBC99-9C0B-4EF8-BB6D-6BB9BD380A11'", "a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11"],
      ["inet6", "'2001:DB8::1'", "2001:db8::1"],
    ],
  },
];
