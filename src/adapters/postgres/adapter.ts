export { PostgresDatabase as Database } from "./database.ts";
export { catalogSql } from "./source/catalog.ts";
export { POSTGRES as source } from "./source/tenant-source.ts";
