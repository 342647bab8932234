/**
 * What is known of whether a GET changes an existing group at the service. Each group counts once, by the last of its answers that
 * showed anything.
 */
export interface UpdateEvidence {
  /** What a probe has found out; null if nobody has probed the service. */
  readonly probe: boolean | null;
  /** The first groups, by their ids, whose change the service has taken. */
  readonly took: readonly string[];
  /** The first groups that the service has kept as they were. */
  readonly kept: readonly string[];
}

/** What the answer to a GET shows of one group. */
export type Shown = "took" | "kept";

export const NO_EVIDENCE: UpdateEvidence = { probe: null, took: [], kept: [] };

/** If the service has kept this many groups, it keeps every group. Fewer may be odd ones. */
const ENOUGH = 3;

/**
 * Whether a GET changes an existing group; null if nobody knows. Then each group is judged by its own answer.
 *
 * | probe   | groups taken | groups kept   | a GET changes an existing group |
 * |---------|--------------|---------------|---------------------------------|
 * | done    | any          | any           | as the probe says               |
 * | none    | one or more  | none          | yes                             |
 * | none    | none         | three or more | no                              |
 * | none    | any other                    | nobody knows                    |
 */
export function doesUpdate({ probe, took, kept }: UpdateEvidence): boolean | null {
  if (probe !== null) return probe;
  if (took.length > 0 && kept.length === 0) return true;
  return took.length === 0 && kept.length >= ENOUGH ? false : null;
}

/** Adds what an answer shows of this group. Returns the same evidence if that is nothing new. */
export function withShown(evidence: UpdateEvidence, id: string, shown: Shown): UpdateEvidence {
  const other = shown === "took" ? "kept" : "took";
  const isOther = evidence[other].includes(id);
  if (!isOther && (evidence[shown].includes(id) || evidence[shown].length >= ENOUGH)) return evidence;
  return {
    ...evidence,
    [shown]: [...evidence[shown], id].slice(0, ENOUGH),
    [other]: evidence[other].filter((known) => known !== id),
  };
}
