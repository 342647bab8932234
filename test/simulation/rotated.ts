import { tokenFingerprint } from "../../src/core/group.ts";
import { Secret } from "../../src/core/secret.ts";
import type { RotationSelection } from "../../src/engine/rotation-selection.ts";
import type { LedgerRow } from "../fakes/ledger-state.ts";
import type { SimulatedWorld } from "./simulated-world.ts";

/** Live tokens, by the ids of their groups. */
export type TokensAskedFor = ReadonlyMap<string, string>;

/**
 * The live tokens that a rotation is asked to replace: of groups that the ledger knows, whatever their state. It knows none
 * of a tenant whose group it has never made, or has deleted: that one is somebody else's.
 */
export function askedFor(
  selection: RotationSelection,
  { service, ledger }: Pick<SimulatedWorld, "service" | "ledger">,
  now: Date,
): TokensAskedFor {
  const isMeant = (id: string): boolean => {
    const known = ledger.rows.get(id);
    switch (selection.kind) {
      case "all":
        return mayExist(known);
      case "only":
        return selection.ids.has(id);
      case "older than": {
        const since = known?.tokenSince?.getTime();
        return since !== undefined && since <= now.getTime() - selection.ageMs;
      }
    }
  };
  return new Map([...service.groups].flatMap(([id, { token }]) => (isMeant(id) ? [[id, token]] : [])));
}

/**
 * Without those that somebody else has made since the ledger was told one: if the answer to a POST is lost, a GET shows
 * such a token, and nobody can tell it from a new one.
 */
export const withoutOthers = (
  asked: TokensAskedFor,
  { ledger, meddledWith }: Pick<SimulatedWorld, "ledger" | "meddledWith">,
): TokensAskedFor =>
  new Map(
    [...asked].filter(
      ([id, token]) =>
        !meddledWith.has(id) || ledger.rows.get(id)?.tokenFingerprint === tokenFingerprint(new Secret(token)),
    ),
  );

/** Whether the service has, or may have, the group. */
export const mayExist = (known: LedgerRow | undefined): boolean =>
  known !== undefined && (known.intent === null ? known.fingerprint !== null : known.intent !== "remove");

/** Which of these tokens still open the dashboards. */
export const stillLive = (
  asked: TokensAskedFor,
  { service }: Pick<SimulatedWorld, "service">,
  except: ReadonlySet<string | undefined> = new Set(),
): string[] =>
  [...asked]
    .filter(([id, token]) => !except.has(id) && service.groups.get(id)?.token === token)
    .map(([id]) => `the token of ${id} is the one from before`);
