import { tokenFingerprint } from "../../src/core/group/group.ts";
import type { GroupRecord } from "../../src/core/record/record.ts";
import { Secret } from "../../src/core/secret/secret.ts";
import type { RotationSelection } from "../../src/engine/rotate.ts";
import type { SimulatedWorld } from "./simulated-world.ts";

/** Live tokens, by the ids of their groups. */
export type LiveTokens = ReadonlyMap<string, string>;

/**
 * The live tokens that a rotation has to replace: those of groups that the ledger knows, whatever their state. A group that
 * the ledger never made or has deleted belongs to another program. A token has no age until the ledger has seen it, even
 * if it was made long ago by a rotation whose answer was lost.
 */
export function askedFor(
  selection: RotationSelection,
  { service, ledger }: Pick<SimulatedWorld, "service" | "ledger">,
  now: Date,
): LiveTokens {
  const isMeant = (id: string, token: string): boolean => {
    const known = ledger.rows.get(id);
    switch (selection.kind) {
      case "all":
        return mayExist(known);
      case "only":
        return selection.ids.has(id);
      case "older than": {
        const since = hasSeen(known, token) ? known?.tokenSince?.getTime() : undefined;
        return since !== undefined && since <= now.getTime() - selection.ageMs;
      }
    }
  };
  return new Map([...service.groups].flatMap(([id, { token }]) => (isMeant(id, token) ? [[id, token]] : [])));
}

/**
 * Leaves out tokens that another program made and the ledger hasn't seen: if the answer to a POST is lost, a GET returns
 * such a token, which can't be told from a new one.
 */
export const withoutOthers = (
  asked: LiveTokens,
  { ledger, meddledWith }: Pick<SimulatedWorld, "ledger" | "meddledWith">,
): LiveTokens =>
  new Map([...asked].filter(([id, token]) => !meddledWith.has(id) || hasSeen(ledger.rows.get(id), token)));

const hasSeen = (known: GroupRecord | undefined, token: string): boolean =>
  known?.tokenFingerprint === tokenFingerprint(new Secret(token));

/** Whether the service has, or may have, the group. */
export const mayExist = (known: GroupRecord | undefined): boolean =>
  known !== undefined && (known.intent === null ? known.fingerprint !== null : known.intent !== "remove");

/** Complaints about those tokens that are still live. */
export const stillLive = (
  asked: LiveTokens,
  { service }: Pick<SimulatedWorld, "service">,
  except: ReadonlySet<string | undefined> = new Set(),
): string[] =>
  [...asked]
    .filter(([id, token]) => !except.has(id) && service.groups.get(id)?.token === token)
    .map(([id]) => `the token of ${id} is the one from before`);
