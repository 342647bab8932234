import mysql from "mysql2";

/** Reads the rows of a query and does nothing with them, as `psql \copy` does. Usage: read.mjs DATABASE_URL QUERY */
const [uri = "", query = ""] = process.argv.slice(2);
const connection = mysql.createConnection({ uri, rowsAsArray: true });
for await (const _ of connection.query(query).stream({ highWaterMark: 2_000 }));
connection.end();
