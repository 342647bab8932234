/**
 * Settings of every session, whatever the server's settings and its `init_connect` say. A server may use another
 * character set than the connection asked for. A `sql_select_limit` would look like the end of the rows. MariaDB alone,
 * which reads the comment, has limits for idle transactions beside `wait_timeout`.
 */
export const EVERY_SESSION = `
  character_set_client = utf8mb4, character_set_connection = utf8mb4, character_set_results = utf8mb4,
  time_zone = '+00:00',
  sql_select_limit = 18446744073709551615, sql_big_selects = 1
  /*M!, idle_transaction_timeout = 0, idle_readonly_transaction_timeout = 0, idle_write_transaction_timeout = 0 */`;

/** Opens a transaction that reads the data of one point in time, in a session whose transactions are REPEATABLE READ. */
export const BEGIN_SNAPSHOT = "START TRANSACTION WITH CONSISTENT SNAPSHOT, READ ONLY";

/** Opens a transaction that reads the data of one point in time. */
export const SNAPSHOT = ["SET TRANSACTION ISOLATION LEVEL REPEATABLE READ", BEGIN_SNAPSHOT] as const;

/** Has the server end waits for a lock of a row or a table. It counts in seconds. */
export function lockLimits(lockMs: number): string {
  const seconds = Math.ceil(lockMs / 1_000);
  return `innodb_lock_wait_timeout = ${seconds}, lock_wait_timeout = ${seconds}`;
}
