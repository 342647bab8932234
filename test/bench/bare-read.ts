import mysql from "mysql2";

/**
 * Reads the customers in the order of their ids' bytes and does nothing with them, as `psql \copy` does: there is no
 * client program that every machine has. Usage: bare-read.ts DATABASE_URL
 */
const connection = mysql.createConnection({ uri: process.argv[2] ?? "", rowsAsArray: true });
const rows = connection
  .query("SELECT id, company_name, data_source_id, plan, seats FROM customers ORDER BY CAST(id AS BINARY)")
  .stream({ highWaterMark: 2_000 });
for await (const _ of rows);
connection.end();
