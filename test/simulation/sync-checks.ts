import { doesUpdate } from "../../src/core/apply/update-evidence.ts";
import { tokenFingerprint } from "../../src/core/group/group.ts";
import { Secret } from "../../src/core/secret/secret.ts";
import type { Served } from "../../src/ports/serve-tenant.ts";
import type { Row, SimulatedConfig } from "./history.ts";
import type { SimulatedWorld } from "./simulated-world.ts";

export const isRejected = ({ kind }: Row): boolean => kind === "rejected" || kind === "twice";

/** Complaints about the groups of the tenants among these rows, unless a report admits the fault. */
export const outOfSync = (
  rows: Iterable<readonly [id: string, row: Row]>,
  config: SimulatedConfig,
  world: SimulatedWorld,
): string[] => [...rows].flatMap(([id, row]) => complaintsOf(id, row, config, world));

function complaintsOf(id: string, row: Row, config: SimulatedConfig, world: SimulatedWorld): string[] {
  if (row.kind !== "active") return [];
  const live = world.service.groups.get(id)?.token;
  const known = world.ledger.rows.get(id);
  if (live === undefined) return [`${id} has no group`];
  if (known === undefined) return [`the ledger does not know the group of ${id}`];
  const complaints: string[] = [];
  if (!world.holdsLive(id, world.destinationsOf(config)))
    complaints.push(`the stored token of ${id} is not the live one`);
  if (known.tokenFingerprint !== tokenFingerprint(new Secret(live)))
    complaints.push(`the ledger names another token of ${id} than the live one`);
  if (known.intent !== null) complaints.push(`the intent to ${known.intent} ${id} still stands`);
  const isAdmitted =
    (known.unverified !== null && doesUpdate(world.ledger.service.evidence) !== true) ||
    known.failures.change !== null ||
    config.update === "never" ||
    // Only a refresh looks at the name.
    world.renamed.has(id) ||
    // Another program made the group in place of a known one.
    world.makers.get(id) === "somebody else";
  if (!isAdmitted && !world.isAsDesired(id, row, config))
    complaints.push(`the group of ${id} is not as desired, and nothing says so`);
  return complaints;
}

/** Complaints about what is left of tenants that are gone, if the config wants their groups deleted. */
export const orphansIn = (
  world: SimulatedWorld,
  except: Pick<ReadonlyMap<string, unknown>, "has"> = new Map(),
): string[] => {
  const { service, ledger, stores, abandoned, makers, config } = world;
  const rows = world.visibleRows();
  const isToBeDeleted = (id: string): boolean => {
    const row = rows.get(id);
    const { when } = config.deletion;
    if (except.has(id) || (row !== undefined && row.kind !== "flagged")) return false;
    const isFlagged = row !== undefined || ledger.rows.get(id)?.absence?.kind === "flagged";
    return when === "absent" || (when === "flagged" && isFlagged);
  };
  const left = (ids: Iterable<string>, what: string): string[] =>
    [...ids].filter(isToBeDeleted).map((id) => `${what} of ${id} is left, whose tenant is gone`);
  return [
    ...left(
      [...service.groups.keys()].filter((id) => makers.get(id) === "groupsync"),
      "the group",
    ),
    ...left(ledger.rows.keys(), "the ledger's row"),
    ...left(
      stores
        .filter((store) => !abandoned.has(store))
        .flatMap(({ tokens }) => [...tokens.keys()])
        .filter((id) => !world.isExcused(id)),
      "the token",
    ),
  ];
};

/** Whether a token is in this text or object. Every token here starts with `ugt_`. */
export const tellsToken = (said: unknown): boolean => JSON.stringify(said).includes("ugt_");

/** Why none of the rows that a tenant has had since somebody asked for it explains this answer; undefined if one does. */
export function complaintOn(
  id: string,
  served: Served,
  rows: readonly (Row | undefined)[],
  config: SimulatedConfig,
  world: SimulatedWorld,
): string | undefined {
  switch (served.kind) {
    case "done": {
      const complaints = rows.map((row) => (row ? outOfSync([[id, row]], config, world) : []));
      return complaints.every((some) => some.length > 0) ? complaints.at(-1)?.[0] : undefined;
    }
    case "unknown":
      return rows.every((row) => row?.kind === "active") ? "it was there all the time" : undefined;
    case "conflict":
      return served.outcome === "rejected" && !rows.some((row) => row && isRejected(row))
        ? "its row was never rejected"
        : undefined;
    case "pending":
    case "failed":
      return undefined;
  }
}
