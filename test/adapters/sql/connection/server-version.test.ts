import { expect, test } from "vitest";
import { insistOnVersion } from "../../../../src/adapters/sql/connection/server-version.ts";

const HOST = "db.example.com";

test.each([
  ["PostgreSQL", "13.23"],
  ["PostgreSQL", "13beta1"],
  ["PostgreSQL", "18.1 (Debian 18.1-1.pgdg120+1)"],
  ["MySQL", "8.0.11"],
  ["MySQL", "9.7.0-commercial"],
  ["MariaDB", "10.6.0-MariaDB"],
  ["MariaDB", "10.11.14-MariaDB-0+deb12u2"],
  ["MariaDB", "11.4.2-MariaDB-log"],
  ["PostgreSQL", ""],
  ["MySQL", "of our own"],
] as const)("%s %s is recent enough, or nobody can tell", (product, version) => {
  insistOnVersion(product, version, HOST);
});

test.each([
  ["PostgreSQL", "12.22", "PostgreSQL 13 or later"],
  ["PostgreSQL", "9.6.24", "PostgreSQL 13 or later"],
  ["MySQL", "5.7.44-log", "MySQL 8.0 or later"],
  ["MariaDB", "10.5.29-MariaDB-0+deb11u1", "MariaDB 10.6 or later"],
] as const)("%s %s is refused, with the version that it takes", (product, version, needed) => {
  expect(() => insistOnVersion(product, version, HOST)).toThrow(
    expect.objectContaining({
      code: "DATABASE_TOO_OLD",
      message: `the server at ${HOST} is ${product} ${version}, and groupsync needs ${needed}`,
    }),
  );
});
