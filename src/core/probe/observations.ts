import type { Secret } from "../secret/secret.ts";

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
