import { hash } from "node:crypto";

/**
 * What befalls a request apart from its content.
 * `html`: an intermediary answers in HTML, and the service never sees the request.
 * `cut-before`: the connection is cut, and the service never sees the request.
 * `fail`: the service answers 500 and has done nothing.
 * `cut-after`: the service does what it was asked, and the connection is cut before the answer.
 */
export type Fault = "none" | "html" | "cut-before" | "fail" | "cut-after";

/** The share of the requests that meets each fault, 0 to 1; together at most 1. One left out is 0. */
export type FaultShares = Readonly<Partial<Record<Exclude<Fault, "none">, number>>>;

/** Milliseconds that pass before a request is looked at, evenly spread. */
export interface Latency {
  readonly min: number;
  readonly max: number;
}

export interface Fate {
  readonly fault: Fault;
  /** Milliseconds. */
  readonly delay: number;
}

export const totalShare = (shares: FaultShares): number =>
  Object.values(shares).reduce((sum, share) => sum + share, 0);

/** The fault at `point` (0 ≤ point < 1) when the shares are laid end to end. */
export function faultAt(shares: FaultShares, point: number): Fault {
  const { html = 0, fail = 0, "cut-before": cutBefore = 0, "cut-after": cutAfter = 0 } = shares;
  if (point < html) return "html";
  if (point < html + cutBefore) return "cut-before";
  if (point < html + cutBefore + fail) return "fail";
  return point < html + cutBefore + fail + cutAfter ? "cut-after" : "none";
}

/** The fates of one request after the other. `random` gives 0 ≤ x < 1 and is asked twice for each. */
export function fates(shares: FaultShares, latency: Latency, random: () => number): () => Fate {
  return () => ({
    fault: faultAt(shares, random()),
    delay: latency.min + random() * (latency.max - latency.min),
  });
}

/** Numbers 0 ≤ x < 1 that are the same for the same seed: a hash in counter mode. */
export function seededRandom(seed: number): () => number {
  let drawn = 0;
  return () => Number.parseInt(hash("sha256", `${seed}:${drawn++}`).slice(0, 8), 16) / 2 ** 32;
}
