import { hash } from "node:crypto";

/**
 * A fault that hits a request, whatever its content.
 * `html`: an intermediary answers in HTML, and the service never sees the request.
 * `cut-before`: the connection is cut, and the service never sees the request.
 * `fail`: the service answers 500 and has done nothing.
 * `cut-after`: the service does what it was asked, and the connection is cut before the answer.
 */
export type Fault = "none" | "html" | "cut-before" | "fail" | "cut-after";

/** The share of requests that each fault hits, from 0 to 1; together at most 1. Default: 0. */
export type FaultShares = Readonly<Partial<Record<Exclude<Fault, "none">, number>>>;

/** How long a request waits before it is handled: milliseconds, evenly distributed. */
export interface Latency {
  readonly min: number;
  readonly max: number;
}

export interface Disturbance {
  readonly fault: Fault;
  /** Milliseconds. */
  readonly delay: number;
}

export const totalShare = (shares: FaultShares): number =>
  Object.values(shares).reduce((sum, share) => sum + share, 0);

/** The fault at `point` (0 ≤ point < 1), if the shares are laid end to end. */
export function faultAt(shares: FaultShares, point: number): Fault {
  const { html = 0, fail = 0, "cut-before": cutBefore = 0, "cut-after": cutAfter = 0 } = shares;
  if (point < html) return "html";
  if (point < html + cutBefore) return "cut-before";
  if (point < html + cutBefore + fail) return "fail";
  return point < html + cutBefore + fail + cutAfter ? "cut-after" : "none";
}

/** Returns the next request's disturbance at each call. Calls `random` (0 ≤ x < 1) twice for each. */
export function disturbances(shares: FaultShares, latency: Latency, random: () => number): () => Disturbance {
  return () => ({
    fault: faultAt(shares, random()),
    delay: latency.min + random() * (latency.max - latency.min),
  });
}

/** Random numbers 0 ≤ x < 1, the same for the same seed. They come from a hash in counter mode. */
export function seededRandom(seed: number): () => number {
  let drawn = 0;
  return () => Number.parseInt(hash("sha256", `${seed}:${drawn++}`).slice(0, 8), 16) / 2 ** 32;
}
