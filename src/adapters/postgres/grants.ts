import { describe } from "../../core/errors.ts";
import type { Secret } from "../../core/secret.ts";
import type { Wanted } from "../sql/source-query.ts";
import { quoteName } from "./names.ts";

const DENIED = /^permission denied for (schema|table|view|materialized view|foreign table|function) (.+)$/;

/** The GRANT that a reader of the tenants lacks, by what the server says; undefined where it says it otherwise. */
export function missingGrant(error: unknown, { name, relation }: Wanted, url: Secret): string | undefined {
  const [, kind, object] = DENIED.exec(describe(error)) ?? [];
  const user = decodeURIComponent(new URL(url.reveal()).username);
  if (kind === undefined || object === undefined || user === "") return undefined;
  const to = `TO ${quoteName(user)}`;
  if (kind === "schema") return `GRANT USAGE ON SCHEMA ${quoteName(object)} ${to}`;
  if (kind === "function") return `GRANT EXECUTE ON FUNCTION ${object} ${to}`;
  if (relation.endsWith(quoteName(object))) return `GRANT SELECT ON ${relation} ${to}`;
  const grant = `GRANT SELECT ON ${quoteName(object)} ${to}`;
  // The tables of a view are read by the view's owner.
  return name === "source.query" ? grant : `${grant}, or to the owner of ${name} if that is a view`;
}
