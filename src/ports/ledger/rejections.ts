import type { Rejection, RememberedRejection } from "../../core/group/rejections.ts";

/** The rows that no group can be computed from, since when and why. */
export interface RejectionReads {
  /** Those of these ids, or all of them: about a thousand at most. In the order of the ids, those without an id first. */
  rejections(ids?: readonly string[]): Promise<readonly RememberedRejection[]>;
}

export interface RejectionWrites {
  /** Remembers rejections, and forgets some. One that is remembered already keeps its time. */
  recordRejections(
    changed: readonly Rejection[],
    gone: readonly Pick<Rejection, "user_group_id" | "code">[],
    now: Date,
  ): Promise<void>;
}
