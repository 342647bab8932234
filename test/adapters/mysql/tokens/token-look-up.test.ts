import { expect, test } from "vitest";
import { MysqlTokenStatements } from "../../../../src/adapters/mysql/tokens/token-statements.ts";
import { someTokens } from "../../../contracts/token-store.ts";
import { freshDatabase } from "../../../support/databases/fresh-database.ts";
import { isMariadb } from "../../../support/mysql/is-mariadb.ts";
import { aDatabase } from "../../sql/ledger/ledger-database.ts";
import { EXISTING } from "../../sql/tokens/token-place.ts";

const ROWS = 10_000;

test.for([
  ["int", "n"],
  ["bigint unsigned", "n"],
  ["varchar(100) CHARACTER SET latin1", "concat('tenant-', n)"],
  ["varchar(100) CHARACTER SET utf8mb4 COLLATE utf8mb4_unicode_ci", "concat('tenant-', n)"],
  ["char(20) CHARACTER SET utf8mb3", "concat('tenant-', n)"],
  ["varbinary(100)", "concat('tenant-', n)"],
  ["uuid", "concat('a0eebc99-9c0b-4ef8-bb6d-', lpad(n, 12, '0'))"],
])("the rows of tenants are found by the index of their %s ids", async ([type, id], { skip }) => {
  const { url, name, query } = await freshDatabase("mysql");
  if (type === "uuid") skip(!(await isMariadb(query)), "only MariaDB has the type uuid");
  await query(`CREATE TABLE customers (id ${type} NOT NULL, dashboard_token text, KEY (id))`);
  await query(
    `INSERT INTO customers (id)
     WITH RECURSIVE numbers AS (SELECT 0 AS n UNION ALL SELECT n + 1 FROM numbers WHERE n < 99)
     SELECT ${id} FROM (SELECT a.n * 100 + b.n AS n FROM numbers AS a CROSS JOIN numbers AS b) AS numbered`,
  );
  // A server that hasn't counted them yet may read them all.
  await query("ANALYZE TABLE customers");
  const database = aDatabase(url, "mysql");
  const statements = new MysqlTokenStatements({
    ...EXISTING,
    place: { schema: name, table: EXISTING.table, owner: null, isOurs: false },
  });
  await statements.prepare(database);
  const some = await query<{ id: string }>("SELECT id FROM customers LIMIT 10");
  const ids = some.map((row) => `${row.id}`);
  const tokens = someTokens(Object.fromEntries(ids.map((id) => [id, "token"])));

  const read = await database.transaction(["FLUSH STATUS"], async (connection) => {
    expect(await statements.write(connection, tokens, true)).toHaveLength(10);
    expect(await statements.find(connection, ids)).toHaveLength(10);
    expect(await statements.remove(connection, ids)).toHaveLength(10);
    const counts = await connection.query<{ Value: string }>("SHOW SESSION STATUS LIKE 'Handler_read%'");
    return counts.reduce((sum, { Value }) => sum + Number(Value), 0);
  });
  expect(read).toBeLessThan(ROWS / 10);
});
