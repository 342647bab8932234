import type { RateLimit, TokenBucket } from "../core/limits/rate-limit.ts";
import type { GroupPolicy } from "./groups.ts";

/**
 * The fault that hits every request of one group. `500`: an answer 500, nothing done. `403`:
 * likewise, as a firewall answers. `success0`: 200 with `success:
 * 0`, nothing done. `hang`: no answer at all, nothing done. `html`: the intermediary's HTML, nothing done.
 * `missing-field`: done, and the answer lacks a promised field (`token`, on DELETE `success`).
 */
export const POISONS = ["500", "403", "success0", "hang", "html", "missing-field"] as const;
export type Poison = (typeof POISONS)[number];

/** The form of the Retry-After header in a refusal. */
export type RetryAfter = "seconds" | "date" | "none";

export interface ApiOptions extends GroupPolicy {
  readonly apiKey: string;
  readonly teamId: number;
  /** How a call fails: with an HTTP status and a JSON body, or with status 200 and `success: 0`. */
  readonly errors: "status" | "body";
  /** In fixed windows. */
  readonly rateLimit: RateLimit | undefined;
  readonly tokenBucket: TokenBucket | undefined;
  /** Most requests at once. */
  readonly concurrencyLimit: number | undefined;
  readonly retryAfter: RetryAfter;
  readonly htmlStatus: number;
  /** By user_group_id. */
  readonly poison: ReadonlyMap<string, Poison>;
}

export const SERVICE_DEFAULTS = {
  teamId: 1,
  existing: "keep",
  deleteBy: "both",
  errors: "status",
  rateLimit: undefined,
  tokenBucket: undefined,
  concurrencyLimit: undefined,
  retryAfter: "seconds",
  htmlStatus: 403,
  poison: new Map<string, Poison>(),
} as const satisfies Omit<ApiOptions, "apiKey">;
