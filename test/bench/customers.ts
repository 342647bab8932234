import pg from "pg";

/** A fresh customers table of `count` tenants, and no trace of an earlier sync. */
export async function createCustomers(databaseUrl: string, count: number): Promise<void> {
  const client = new pg.Client(databaseUrl);
  await client.connect();
  await client.query(`
    DROP SCHEMA public CASCADE;
    CREATE SCHEMA public;
    CREATE TABLE customers (id text PRIMARY KEY, company_name text, data_source_id text, plan text, seats integer)`);
  await client.query(
    `INSERT INTO customers
     SELECT 'tenant-' || i, 'Company ' || i, 'ds-' || i, CASE i % 3 WHEN 0 THEN 'gold' ELSE 'basic' END, i % 500
     FROM generate_series(1, $1::int) AS i ORDER BY md5(i::text)`,
    [count],
  );
  await client.query("VACUUM ANALYZE customers");
  await client.end();
}
