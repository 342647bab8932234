import { backfill } from "./backfill.ts";
import type { Benchmark } from "./benchmark.ts";
import { exposure } from "./exposure.ts";
import { instantOn } from "./instant.ts";
import { start } from "./start.ts";
import { throttle } from "./throttle.ts";
import { unchangedOn } from "./unchanged.ts";

export const BENCHMARKS: Readonly<Record<string, Benchmark>> = {
  backfill,
  unchanged: unchangedOn("postgres"),
  "unchanged-mariadb": unchangedOn("mysql"),
  exposure,
  throttle,
  start,
  instant: instantOn("postgres"),
  "instant-mariadb": instantOn("mysql"),
};
