import { allChanged } from "./all-changed.ts";
import { backfillOn } from "./backfill.ts";
import type { Benchmark } from "./benchmark.ts";
import { exposure } from "./exposure.ts";
import { instantOn } from "./instant.ts";
import { scripts } from "./scripts.ts";
import { start } from "./start.ts";
import { throttle } from "./throttle.ts";
import { unchangedOn } from "./unchanged.ts";

export const BENCHMARKS: Readonly<Record<string, Benchmark>> = {
  backfill: backfillOn("postgres", [
    { tenants: 5_000, rounds: 5, atLeast: 0.7 },
    { tenants: 100_000, rounds: 1, atLeast: 0.8 },
  ]),
  "backfill-mariadb": backfillOn("mysql", [{ tenants: 5_000, rounds: 5, atLeast: 0.6 }]),
  unchanged: unchangedOn("postgres", { tenants: 1_000_000, fewerTenants: 100_000, rounds: 3, atMost: 2 }),
  "unchanged-mariadb": unchangedOn("mysql", {
    tenants: 1_000_000,
    fewerTenants: 100_000,
    rounds: 3,
    atMost: 1.5,
  }),
  // Takes a quarter of an hour and 10 GB of disk.
  "ten-million": unchangedOn("postgres", {
    tenants: 10_000_000,
    fewerTenants: 100_000,
    rounds: 3,
    atMost: 2,
  }),
  "all-changed": allChanged,
  scripts,
  exposure,
  throttle,
  start,
  instant: instantOn("postgres"),
  "instant-mariadb": instantOn("mysql"),
};
