import { describe } from "../../core/errors.ts";
import type { Secret } from "../../core/secret.ts";
import type { Wanted } from "../sql/source-query.ts";
import { isName, quoteName } from "./names.ts";

const DENIED = /^permission denied for (schema|table|view|materialized view|foreign table|function) (.+)$/;

/** The right that a reader of the tenants lacks, by what the server says; undefined where it says it otherwise. */
export function missingRight(error: unknown, { name, relation }: Wanted, url: Secret): string | undefined {
  const user = decodeURIComponent(new URL(url.reveal()).username);
  if (mayHideRows(error)) return seesAllRows(user);
  const [, kind, object] = DENIED.exec(describe(error)) ?? [];
  // A view's code can say so, too, of whatever it likes: an operator runs what is written here.
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
  if (relation.endsWith(quoted)) return `GRANT SELECT ON ${relation} ${to}`;
  const grant = `GRANT SELECT ON ${quoted} ${to}`;
  // The tables of a view are read by the view's owner.
  return name === "source.query" ? grant : `${grant}, or to the owner of ${name} if that is a view`;
}

/** Said by a name in the server's source: the message comes in the server's language. */
const mayHideRows = (error: unknown): boolean =>
  error instanceof Error && "routine" in error && error.routine === "check_enable_rls";

/** A view reads its tables as its owner, unless it is a security_invoker one. */
const seesAllRows = (user: string): string =>
  `a tenant that a policy hides would count as gone: ALTER ROLE ${user === "" ? "…" : quoteName(user)} BYPASSRLS, or that for the owner of the view that reads this table; or set source.row_security: filter, if the groups of all tenants that it hides may be deleted`;
