/**
 * PostgreSQL looks names up in each schema of the role's search_path. If somebody else may create functions or
 * operators in one of these schemas, a statement may run them with groupsync's rights. Every statement therefore has
 * one of two forms:
 *
 * - The statement names its tables with their schemas, and runs with a search_path that has only PostgreSQL's own
 *   names.
 * - The statement runs with the role's search_path, because it looks up where that path leads, or because the triggers
 *   and policies of a customer's table may need that path. It names every function, operator, type and collation with a
 *   schema.
 *
 * The path is set for a transaction and never for the session, because a pooler may give the session to another client.
 */
const PATH = "pg_catalog, pg_temp";

/** The setting in which a transaction keeps the session's own search_path. */
const KEPT = "'groupsync.search_path'";

/** Gives a transaction the search_path with PostgreSQL's own names alone: pins the path. */
export const PIN = `SELECT pg_catalog.set_config(${KEPT}, pg_catalog.current_setting('search_path'), true);
  SET LOCAL search_path = ${PATH}`;

/** Gives the transaction the role's path back; PIN_AGAIN pins the path again. */
export const UNPIN = `SELECT pg_catalog.set_config('search_path', pg_catalog.current_setting(${KEPT}), true)`;
export const PIN_AGAIN = `SET LOCAL search_path = ${PATH}`;

/** Pins the path in the round trip of one statement. */
export const PINNED_PATH = { search_path: PATH } as const;
