import { sameName } from "../apply/classify-get-answer.ts";
import type { Group } from "../group/group.ts";
import type { Secret } from "../secret/secret.ts";

/** The group that `probe` makes at the service, to see how the service behaves, and deletes again. */
const PREFIX = "groupsync-canary-";
const HEX_DIGITS = 32;

export const CANARY_NAME = "groupsync canary, may be deleted";
export const OTHER_CANARY_NAME = "groupsync canary with another name, may be deleted";

/** An id that no tenant has: it can be recognized by its start, and has 128 random bits. */
export const canaryId = (random: () => number): string =>
  PREFIX + Array.from({ length: HEX_DIGITS }, () => Math.floor(random() * 16).toString(16)).join("");

/** No application gets the canary's token, so its mapping and properties don't matter. */
export const canaryGroup = (user_group_id: string, name: string): Group => ({
  user_group_id,
  name,
  mapping: {},
  properties: {},
});

/** What came back to the probe's calls. What is left out was not asked, or no answer came. */
export interface Observations {
  /** The first GET, which makes the canary. */
  readonly created?: SeenGet;
  /** The same GET again. */
  readonly repeated?: SeenGet;
  /** A GET with the other name. */
  readonly renamed?: SeenGet;
  /** A POST with the live token. */
  readonly rotated?: SeenPost;
  /** A POST with the token from before the rotation. */
  readonly reused?: SeenPost;
  /** A GET after the POSTs. */
  readonly afterwards?: SeenGet;
  /** The GET after the last DELETE. */
  readonly remade?: SeenGet;
  /** In the order in which they were tried. */
  readonly deletes: readonly DeleteTry[];
}

export interface SeenGet {
  readonly name: string;
  readonly isNew: boolean;
  readonly token: Secret;
  /** An earlier attempt may have reached the service, and its answer was lost. */
  readonly mayHaveBeenSent: boolean;
}

export type SeenPost =
  /** `name` is null if the answer was lost, and a GET then told another token. */
  | { readonly kind: "carried out"; readonly token: Secret; readonly name: string | null }
  /** `text` has the service's words. */
  | { readonly kind: "refused"; readonly text: string };

export type DeleteField = "current_token" | "user_group_id" | "data_source_provided_id";

export interface DeleteTry {
  readonly fields: readonly DeleteField[];
  /** `failed`: nobody can tell, because the service failed. */
  readonly result: "deleted" | "refused" | "failed";
  /** Why it did not delete, in the service's words. Null if it did. */
  readonly text: string | null;
}

/** How the service behaves where its interface leaves that open, as `probe --json` prints it. Null: nobody has found out. */
export interface ProbeFindings {
  readonly repeated_get: "the same" | "another token" | "another name" | null;
  /**
   * What a GET with another name does. `only the answer`: the answer to the GET has the new name, and a later answer the
   * old one. `another group`: the service goes by the name, so it makes a second group with the same id.
   */
  readonly update: "updates" | "keeps" | "only the answer" | "another group" | null;
  readonly rotation: "a new token" | "the same token" | "refused" | null;
  /** What a POST does with the token from before the rotation. */
  readonly old_token: "refused" | "accepted" | null;
  readonly get_after_rotation: "the new token" | "another token" | null;
  readonly deletes: readonly DeleteTry[];
  /** The service's words for what it refused, by the question. */
  readonly refusals: Partial<Record<"rotation" | "old_token", string>>;
}

export function findingsOf(seen: Observations): ProbeFindings {
  const { rotated, reused, deletes } = seen;
  return {
    repeated_get: repeatedGetOf(seen),
    update: updateOf(seen),
    rotation: rotationOf(seen),
    old_token: reused === undefined ? null : reused.kind === "refused" ? "refused" : "accepted",
    get_after_rotation: getAfterRotationOf(seen),
    deletes,
    refusals: {
      ...(rotated?.kind === "refused" && { rotation: rotated.text }),
      ...(reused?.kind === "refused" && { old_token: reused.text }),
    },
  };
}

/** Whether a GET changes an existing group, as the ledger keeps it. Undefined if nobody has found out. */
export const updatesBy = ({ update }: Pick<ProbeFindings, "update">): boolean | undefined =>
  update === null || update === "another group" ? undefined : update === "updates";

function repeatedGetOf({ created, repeated }: Observations): ProbeFindings["repeated_get"] {
  if (created === undefined || repeated === undefined) return null;
  if (!repeated.token.equals(created.token)) return "another token";
  return sameName(repeated.name, created.name) ? "the same" : "another name";
}

/**
 * | answer to the GET with another name | name in the answer to a POST | a GET           |
 * |-------------------------------------|------------------------------|-----------------|
 * | calls the group new                 | any                          | another group   |
 * | the old name                        | any                          | keeps           |
 * | the new name                        | another                      | only the answer |
 * | the new name                        | the new name                 | updates         |
 * | the new name                        | no answer                    | nobody can tell |
 */
function updateOf(seen: Observations): ProbeFindings["update"] {
  const { renamed, rotated, reused } = seen;
  if (renamed === undefined) return null;
  if (isAnotherGroup(seen, renamed)) return "another group";
  if (!sameName(renamed.name, OTHER_CANARY_NAME)) return "keeps";
  // The GET's answer may just repeat what was sent. A POST sends no name.
  const name = nameIn(rotated) ?? nameIn(reused);
  if (name === null) return null;
  return sameName(name, OTHER_CANARY_NAME) ? "updates" : "only the answer";
}

const nameIn = (post: SeenPost | undefined): string | null =>
  post?.kind === "carried out" ? post.name : null;

/** The service calls the group new, and its token is another one, although a GET with the former name returns the same token. */
function isAnotherGroup({ created, repeated }: Observations, renamed: SeenGet): boolean {
  if (repeated === undefined || created?.token.equals(repeated.token) !== true) return false;
  return (renamed.isNew || renamed.mayHaveBeenSent) && !renamed.token.equals(repeated.token);
}

function rotationOf({ renamed, rotated }: Observations): ProbeFindings["rotation"] {
  if (renamed === undefined || rotated === undefined) return null;
  if (rotated.kind === "refused") return "refused";
  return rotated.token.equals(renamed.token) ? "the same token" : "a new token";
}

function getAfterRotationOf(seen: Observations): ProbeFindings["get_after_rotation"] {
  const { rotated, reused, afterwards } = seen;
  if (afterwards === undefined || rotationOf(seen) !== "a new token") return null;
  const last = reused?.kind === "carried out" ? reused : rotated;
  return last?.kind === "carried out" && afterwards.token.equals(last.token)
    ? "the new token"
    : "another token";
}
