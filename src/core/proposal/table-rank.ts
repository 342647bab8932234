import { quantity } from "../text/quantity.ts";
import type { CatalogTable } from "./catalog.ts";
import { wordsOf } from "./words.ts";

const TENANTS: Readonly<Record<string, number>> = {
  tenant: 10,
  customer: 9,
  organization: 8,
  organisation: 8,
  org: 8,
  account: 8,
  company: 8,
  workspace: 7,
  client: 7,
  merchant: 6,
  business: 6,
  subscriber: 6,
  team: 5,
  agency: 4,
  brand: 4,
  partner: 4,
  school: 4,
  clinic: 4,
  hotel: 4,
  restaurant: 4,
  store: 4,
  shop: 4,
  site: 3,
};
/** Words that say nothing about what a table has. */
const FILLERS: ReadonlySet<string> = new Set([
  "active",
  "all",
  "current",
  "data",
  "info",
  "list",
  "master",
  "table",
  "tbl",
  "v",
  "view",
  "vw",
]);
/** Tables that others refer to, without being tenants. */
const UNLIKELY: ReadonlySet<string> = new Set([
  "country",
  "currency",
  "event",
  "job",
  "language",
  "log",
  "migration",
  "permission",
  "plan",
  "product",
  "region",
  "role",
  "session",
  "setting",
  "status",
  "token",
  "type",
  "user",
]);

const MOST_REFERENCES = 5;

/** How well a table's name, keys and kind fit the tenants, and why. The reasons are clauses without a subject. */
export function tableRank(table: CatalogTable): {
  readonly rank: number;
  readonly reasons: readonly string[];
} {
  const words = wordsOf(table.name);
  // The last word says what a row is: customer_orders has orders.
  const head = words.findLast((word) => !FILLERS.has(word)) ?? "";
  const byName = TENANTS[head] ?? (UNLIKELY.has(head) ? -6 : 0);
  const { referencedBy, references, kind, rows } = table;
  const rank =
    byName +
    2 * Math.min(referencedBy, MOST_REFERENCES) -
    Math.min(references, MOST_REFERENCES) -
    (kind === "view" ? 3 : 0) -
    (rows === 0 ? 1 : 0);
  const reasons = [
    ...(byName > 0 ? ["sounds like tenants"] : []),
    ...(referencedBy > 0 ? [`is referred to by ${quantity(referencedBy, "other table")}`] : []),
    ...(byName <= 0 && referencedBy === 0 ? ["has what a group needs"] : []),
  ];
  return { rank, reasons };
}
