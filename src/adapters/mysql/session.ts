/**
 * What every session counts on, whatever the server's settings are and its `init_connect` has done: a server may go by
 * another character set than the one that was asked for, and a limit would pass for the end of the rows.
 */
export const EVERY_SESSION = `
  character_set_client = utf8mb4, character_set_connection = utf8mb4, character_set_results = utf8mb4,
  time_zone = '+00:00',
  sql_select_limit = 18446744073709551615, sql_big_selects = 1`;

/** What opens a transaction that reads at one point in time. */
export const SNAPSHOT = [
  "SET TRANSACTION ISOLATION LEVEL REPEATABLE READ",
  "START TRANSACTION WITH CONSISTENT SNAPSHOT, READ ONLY",
] as const;
