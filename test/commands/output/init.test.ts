import { expect, test } from "vitest";
import { userUrl } from "../../../src/commands/output/init.ts";

test.each([
  [
    "postgres://app:s3cret@db.example.com:5433/old?sslmode=require",
    "postgres://reader:PASSWORD@db.example.com:5433/shop?sslmode=require",
  ],
  [
    "postgres://app:s3cret@db/old?password=s3cret&sslrootcert=/etc/my ca.pem&application_name=x",
    "postgres://reader:PASSWORD@db/shop?sslrootcert=/etc/my%20ca.pem",
  ],
  [
    "postgres:///old?host=/var/run/postgresql&user=app",
    "postgres://reader:PASSWORD@localhost/shop?host=/var/run/postgresql",
  ],
  ["postgresql://[::1]:5432", "postgresql://reader:PASSWORD@[::1]:5432/shop"],
])("%s leads another user to another database, and says nothing else", (url, expected) => {
  expect(userUrl("postgres", url, "reader:PASSWORD", "shop")).toBe(expected);
});

test("a name of a database is encoded", () => {
  expect(userUrl("mysql", "mysql://app:s3cret@db/old?ssl-mode=REQUIRED&host=x", "reader", "a b/c")).toBe(
    "mysql://reader@db/a%20b%2Fc?ssl-mode=REQUIRED",
  );
});
