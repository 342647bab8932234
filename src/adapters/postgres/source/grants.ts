import { describe } from "../../../core/failure/sync-error.ts";
import type { Secret } from "../../../core/secret/secret.ts";
import type { SourceRequest } from "../../sql/source/source-request.ts";
import { isName, quoteName } from "../connection/identifiers.ts";

const DENIED = /^permission denied for (schema|table|view|materialized view|foreign table|function) (.+)$/;

/** The statement that grants the right that a read lacked; undefined if the server's message doesn't tell. */
export function missingRight(
  error: unknown,
  { name, relation, where, removedWhen, readyWhen }: SourceRequest,
  url: Secret,
): string | undefined {
  const user = decodeURIComponent(new URL(url.reveal()).username);
  if (mayHideRows(error)) return seesAllRows(user);
  const [, kind, object] = DENIED.exec(describe(error)) ?? [];
  // A function in a view can raise this message with any text. An operator may run the hint, so take only real names.
  if (kind === undefined || object === undefined || user === "" || !isName(object)) return undefined;
  const to = `TO ${quoteName(user)}`;
  const quoted = quoteName(object);
  if (kind === "schema") {
    const isNamed = name === "source.query" || relation.startsWith(`${quoted}.`);
    return isNamed
      ? `GRANT USAGE ON SCHEMA ${quoted} ${to}`
      : `look at why ${name} needs the schema ${object}: whoever owns it, or a function in it, runs code as ${user}`;
  }
  if (kind === "function") return `GRANT EXECUTE ON FUNCTION ${quoted} ${to}`;
  if (relation.endsWith(quoted)) {
    const whole = `GRANT SELECT ON ${relation} ${to}`;
    // The server names no column, and the config's own SQL may read any.
    const hasSql = [where, removedWhen, readyWhen].some((sql) => sql !== undefined);
    return hasSql
      ? `GRANT SELECT (…) ON ${relation} ${to}, with each column that the conditions in source read; or ${whole}`
      : whole;
  }
  const grant = `GRANT SELECT ON ${quoted} ${to}`;
  // If the table is a view, its owner reads the tables in it and needs the right.
  return name === "source.query" ? grant : `${grant}, or to the owner of ${name} if that is a view`;
}

/** Recognised by the name of a function in the server's source, because the message is in the server's language. */
const mayHideRows = (error: unknown): boolean =>
  error instanceof Error && "routine" in error && error.routine === "check_enable_rls";

/** Names the view's owner too: a view reads its tables as its owner, unless it is a security_invoker view. */
const seesAllRows = (user: string): string =>
  `a tenant that a policy hides would count as gone: ALTER ROLE ${user === "" ? "…" : quoteName(user)} BYPASSRLS, or that for the owner of the view that reads this table; or set source.row_security: filter, if the groups of all tenants that it hides may be deleted`;
