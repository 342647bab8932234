export { MysqlDatabase as Database } from "./database.ts";
export { catalogSql } from "./source/catalog.ts";
export { MYSQL as source } from "./source/tenant-source.ts";
