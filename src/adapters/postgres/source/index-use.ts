import { FEW_ROWS, selectRowsOf, type TenantQuery } from "../../sql/source/tenant-query.ts";
import type { PostgresSourceSession } from "./source-session.ts";

/** An id that texts and the type uuid can hold, and one for numbers. Both are conspicuous in a plan. */
const PROBES = ["6e6f7465-0000-4000-8000-67726f757073", "31415"];

interface PlanNode {
  readonly Plans?: readonly PlanNode[];
  readonly [detail: string]: unknown;
}

/**
 * Whether an index finds the rows of an id. False if the id is compared in any other place of the plan: with each row of a
 * table, or with each row that the config's query has made.
 */
export async function isIndexed(
  session: Pick<PostgresSourceSession, "query">,
  query: TenantQuery,
): Promise<boolean> {
  const [probe = ""] = await query.idsHeld(PROBES);
  return isFoundByIndex(session, selectRowsOf(query, [probe]), probe);
}

/**
 * Whether the plan for a SELECT compares a value that stands in it with those in an index, and nowhere else, and reads no
 * large table whole for a join.
 */
export async function isFoundByIndex(
  session: Pick<PostgresSourceSession, "query">,
  select: string,
  value: string,
): Promise<boolean> {
  // Otherwise a table of a few rows would be read whole. The transaction's other reads keep the setting that they had.
  const [before] = await session.query<{ value: string }>(
    "SELECT pg_catalog.current_setting('enable_seqscan') AS value",
  );
  const allow = "SELECT pg_catalog.set_config('enable_seqscan', $1, true)";
  await session.query(allow, ["off"]);
  const [row] = await session.query<{ "QUERY PLAN": readonly { Plan: PlanNode }[] }>(
    `EXPLAIN (FORMAT JSON) ${select}`,
  );
  await session.query(allow, [before?.value]);
  const nodes = row ? nodesOf(row["QUERY PLAN"][0]?.Plan) : [];
  const has = (...details: string[]): boolean =>
    nodes.some((node) => details.some((detail) => String(node[detail] ?? "").includes(value)));
  return has("Index Cond") && !has("Filter", "Join Filter") && !nodes.some(readsMany);
}

/** A bitmap of an index's entries leads to rows by its "Recheck Cond". */
const readsMany = (node: PlanNode): boolean =>
  "Relation Name" in node &&
  !("Index Cond" in node || "Recheck Cond" in node) &&
  Number(node["Plan Rows"]) > FEW_ROWS;

const nodesOf = (node: PlanNode | undefined): readonly PlanNode[] =>
  node ? [node, ...(node.Plans ?? []).flatMap(nodesOf)] : [];
