import { type CatalogTable, titleOf, titleWithOwner } from "../../core/proposal/catalog.ts";
import type { Proposal, Proposals } from "../../core/proposal/proposal.ts";
import { removalCondition } from "../../core/setup/config-text.ts";
import { channelOf, type Setup, UNKNOWN_SCHEMA } from "../../core/setup/setup.ts";
import { printable } from "../../core/text/printable.ts";

/** How many other tables are named. */
const MOST_OTHERS = 5;

/** Whose the table is, as a clause without a subject. */
export const ownerOf = ({ owner }: Pick<CatalogTable, "owner">): readonly string[] =>
  owner === null ? [] : [`belongs to ${owner}`];

/** The same for a table that isn't this user's. */
export const whoseIs = (table: Pick<CatalogTable, "owner">): string =>
  printable(ownerOf(table)[0] ?? "may be anybody's");

/** What was chosen, line by line, with the reasons. */
export function proposalText(setup: Setup): string {
  const { table, reasons, id, name, mapping, properties, removals, change } = setup.proposal;
  const channel = channelOf(setup);
  const lines: (readonly [key: string, value: string, reason: string])[] = [
    ["source.table", titleOf(table), [...reasons, ...(table.isOurs ? [] : ownerOf(table))].join(", and ")],
    ["group.id", id.column.name, id.reason],
    ["group.name", name.column.name, name.reason],
    ...mapping.map(
      ({ schemaId, column, reason }) =>
        [`group.mapping.${schemaId ?? UNKNOWN_SCHEMA}`, column.name, reason] as const,
    ),
    ...properties.proposed.map(
      ({ column, reason }) => [`group.properties.${column.name}`, column.name, reason] as const,
    ),
    ...(removals.length > 0
      ? [
          [
            "source.removed_when",
            removalCondition(setup.dialect, removals),
            "says which tenants are gone",
          ] as const,
        ]
      : []),
    ...(change ? [["source.changes.column", change.column.name, change.reason] as const] : []),
    ...(channel === null
      ? []
      : [["source.changes.channel", channel, "gets a trigger, in groupsync.sql"] as const]),
  ];
  const shown = lines.map((line) => line.map((text) => printable(text)));
  const width = (index: number): number => Math.max(...shown.map((line) => line[index]?.length ?? 0));
  const [keys, values] = [width(0), width(1)];
  return shown
    .map(
      ([key = "", value = "", reason = ""]) => `  ${key.padEnd(keys)}  ${value.padEnd(values)}  ${reason}\n`,
    )
    .join("");
}

/** The other tables that would fit, so that nobody takes the first one for the only one. */
export function otherTablesText({ fit }: Pick<Proposals, "fit">, { table: taken }: Proposal): string {
  const others = fit
    .filter(({ table }) => table !== taken)
    .map(({ table }) => printable(titleWithOwner(table)));
  if (others.length === 0) return "";
  const more = others.length > MOST_OTHERS ? ", …" : "";
  return `Other tables that would fit, with --table: ${others.slice(0, MOST_OTHERS).join(", ")}${more}\n`;
}
