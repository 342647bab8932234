import type { SyncSettings } from "../../src/engine/sync.ts";
import { column, constant, someRules } from "../builders/rules.ts";
import type { SimulatedConfig } from "./history.ts";

/** As src/compose/sync.ts derives them from a `service.timeout` of 15 s. */
export const CALL_MS = 15_000;
export const LEASE_MS = 45_000;

export const MAPPED = "40";
export const TIER = "gold";

/** Rows have the columns id, name, source and plan. */
export const settingsOf = (
  { update, deletion, rotation, refreshMs, concurrency, source, hasTier }: SimulatedConfig,
  tokenDestinations: readonly string[],
  holder: string,
  isDead: (holder: string) => Promise<boolean>,
  handsOver: boolean,
): SyncSettings => ({
  rules: someRules({
    mapping: { kind: "keys", keys: { [MAPPED]: column("source") } },
    properties: {
      kind: "keys",
      keys: { plan: column("plan"), ...(hasTier ? { tier: constant(TIER) } : {}) },
    },
  }),
  update,
  deletion,
  source,
  rotation: { ...rotation, window: null, concurrency },
  refresh: { everyMs: refreshMs },
  name: "default",
  tokenDestinations,
  baseUrl: "https://dashboards.example.com",
  concurrency,
  lease: { holder, ttlMs: LEASE_MS, callMs: CALL_MS, isDead, handsOver },
});
