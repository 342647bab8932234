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
  /** A GET with another name. */
  readonly renamed?: SeenGet;
  /** A POST with the live token. */
  readonly rotated?: SeenPost;
  /** A POST with the token from before the rotation. */
  readonly reused?: SeenPost;
  /** A GET after the POSTs. */
  readonly afterwards?: SeenGet;
  /** In the order in which they were tried. */
  readonly deletes: readonly DeleteTry[];
}

export interface SeenGet {
  readonly sentName: string;
  readonly name: string;
  readonly isNew: boolean;
  readonly token: Secret;
  /** An earlier attempt may have reached the service, and its answer was lost. */
  readonly mayHaveBeenSent: boolean;
}

export type SeenPost =
  | { readonly kind: "answered"; readonly token: Secret; readonly name: string }
  /** The answer was lost, and a GET then told another token. */
  | { readonly kind: "carried out"; readonly token: Secret }
  /** `text` has the service's words. */
  | { readonly kind: "refused"; readonly text: string };

/** The fields of a DELETE's body. */
export type DeleteField = "current_token" | "user_group_id" | "data_source_provided_id";

export interface DeleteTry {
  readonly fields: readonly DeleteField[];
  readonly result: DeleteResult;
  /** Why it did not delete, or what was wrong with the answer, in the service's words. Null if nothing was. */
  readonly text: string | null;
}

/**
 * - `deleted`: the next GET made the group anew.
 * - `deleted, bad answer`: likewise, but the answer can't be used, so a sync would count the deletion as failed.
 * - `without effect`: the service said that it had deleted the group, and still had it.
 * - `failed`: nobody can tell, because the service failed.
 */
export type DeleteResult = "deleted" | "deleted, bad answer" | "without effect" | "refused" | "failed";

export const isDeleted = ({ result }: Pick<DeleteTry, "result">): boolean =>
  result === "deleted" || result === "deleted, bad answer";

/** What the transport tells of one answer. */
export interface AnswerFacts {
  readonly method: "GET" | "POST" | "DELETE";
  readonly status: number;
  readonly tookMs: number;
  /** The headers that tell of a limit, such as `ratelimit-remaining` and `retry-after`. Hold no secret. */
  readonly limitHeaders: readonly LimitHeader[];
}

export interface LimitHeader {
  /** In small letters. */
  readonly name: string;
  readonly value: string;
}

/** How the service behaves where its interface leaves that open. Null: nobody has found out. */
export interface ProbeFindings {
  /** What `new_user_group` says. */
  readonly newFlag: "true for a new group alone" | "true for an existing group too" | "never true" | null;
  /** What the same GET returns when it is repeated. */
  readonly repeatedGet: "the same" | "another token" | "another name" | null;
  /**
   * What a GET with another name does. `only the answer`: the answer to the GET has the new name, and a later answer the
   * old one. `another group`: the service goes by the name, so it makes a second group with the same id.
   */
  readonly update: "updates" | "keeps" | "only the answer" | "another group" | null;
  readonly rotation: "a new token" | "the same token" | "refused" | null;
  /** What a POST does with the token from before the rotation. */
  readonly oldToken: "refused" | "accepted" | null;
  /** What a GET returns after the rotation. */
  readonly getAfterRotation: "the new token" | "another token" | null;
  readonly deletes: readonly DeleteTry[];
  /** The service's words for what it refused, by the question. */
  readonly refusals: Partial<Record<"rotation" | "oldToken", string>>;
  /** The last value of each header. */
  readonly limitHeaders: readonly LimitHeader[];
  /** How many answers were HTTP 429. */
  readonly throttled: number;
  /** By method. Without a method that had no answer. */
  readonly latency: Partial<Record<AnswerFacts["method"], Latency>>;
}

/** In milliseconds. */
interface Latency {
  readonly answers: number;
  readonly least: number;
  readonly median: number;
  readonly most: number;
}

/** Says what the answers show of the service. */
export function findingsOf(seen: Observations, answers: readonly AnswerFacts[]): ProbeFindings {
  const { rotated, reused } = seen;
  return {
    newFlag: newFlagOf(seen),
    repeatedGet: repeatedGetOf(seen),
    update: updateOf(seen),
    rotation: rotationOf(seen),
    oldToken: reused === undefined ? null : reused.kind === "refused" ? "refused" : "accepted",
    getAfterRotation: getAfterRotationOf(seen),
    deletes: seen.deletes,
    refusals: {
      ...(rotated?.kind === "refused" && { rotation: rotated.text }),
      ...(reused?.kind === "refused" && { oldToken: reused.text }),
    },
    limitHeaders: [
      ...new Map(
        answers.flatMap(({ limitHeaders }) => limitHeaders.map((header) => [header.name, header])),
      ).values(),
    ],
    throttled: answers.filter(({ status }) => status === 429).length,
    latency: latencyOf(answers),
  };
}

/** Whether a GET changes an existing group, as the ledger keeps it. Undefined if nobody has found out. */
export const updatesBy = ({ update }: Pick<ProbeFindings, "update">): boolean | undefined =>
  update === null || update === "another group" ? undefined : update === "updates";

function newFlagOf({ created, repeated }: Observations): ProbeFindings["newFlag"] {
  if (created === undefined || repeated === undefined) return null;
  if (repeated.isNew) return "true for an existing group too";
  if (created.isNew) return "true for a new group alone";
  // If an answer was lost, an earlier attempt has made the group.
  return created.mayHaveBeenSent ? null : "never true";
}

function repeatedGetOf({ created, repeated }: Observations): ProbeFindings["repeatedGet"] {
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
  if (!sameName(renamed.name, renamed.sentName)) return "keeps";
  // The GET's answer may just repeat what was sent. A POST sends no name.
  const told = [rotated, reused].find((post) => post?.kind === "answered");
  if (told === undefined) return null;
  return sameName(told.name, renamed.sentName) ? "updates" : "only the answer";
}

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

function getAfterRotationOf(seen: Observations): ProbeFindings["getAfterRotation"] {
  const { rotated, reused, afterwards } = seen;
  if (afterwards === undefined || rotationOf(seen) !== "a new token") return null;
  const [last] = [reused, rotated].flatMap((post) => (post && post.kind !== "refused" ? [post] : []));
  return last && afterwards.token.equals(last.token) ? "the new token" : "another token";
}

/**
 * Whether the GET after a DELETE has made the group anew, so the DELETE had its effect. The interface doesn't promise that
 * `new_user_group` is false for an existing group, so the token tells, unless every GET returns another one.
 */
export const isMadeAnew = (
  after: Pick<SeenGet, "isNew" | "token">,
  live: Secret,
  everyGetHasAnother: boolean,
): boolean => (everyGetHasAnother ? after.isNew : !after.token.equals(live));

function latencyOf(answers: readonly AnswerFacts[]): ProbeFindings["latency"] {
  const methods = new Set(answers.map(({ method }) => method));
  return Object.fromEntries(
    [...methods].map((method) => {
      const took = answers.filter((answer) => answer.method === method).map(({ tookMs }) => tookMs);
      return [method, summaryOf(took.sort((a, b) => a - b))];
    }),
  );
}

const summaryOf = (sorted: readonly number[]): Latency => ({
  answers: sorted.length,
  least: sorted[0] ?? 0,
  median: sorted[Math.floor(sorted.length / 2)] ?? 0,
  most: sorted.at(-1) ?? 0,
});
