import { Counter, collectDefaultMetrics, Histogram, Registry } from "prom-client";
import { SERVICE_FAILURES } from "../../core/failure/service-failure.ts";
import type { DaemonState } from "../../core/report/scope-facts.ts";
import type { Clock } from "../../ports/clock.ts";
import type { Observe } from "../../ports/observer.ts";
import { REPLY_STATUSES } from "../http/sync-requests.ts";
import { eventMetrics } from "./event-metrics.ts";
import type { MeasuredCall, OperationLabel } from "./measured-service.ts";
import { registerStateMetrics } from "./state-metrics.ts";

const OPERATIONS: readonly OperationLabel[] = ["get", "post", "delete"];
const RESULTS = ["ok", ...Object.keys(SERVICE_FAILURES).map((code) => code.toLowerCase())];
/** The last two are for timeouts: service.timeout is 15 s by default. */
const REQUEST_SECONDS = [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 15, 30];

/** prom-client's gauges with names like counters. Gauges such as `nodejs_active_resources` have the same numbers. */
const MISNAMED = [
  "nodejs_active_handles_total",
  "nodejs_active_requests_total",
  "nodejs_active_resources_total",
];

/** prom-client would wake the process a hundred times a second to measure these, and an idle daemon would do little else. */
const COSTLY = ["min", "max", "mean", "stddev", "p50", "p90", "p99"].map(
  (name) => `nodejs_eventloop_lag_${name}_seconds`,
);
/** Between two measurements, in milliseconds. It is a day, because 0 isn't allowed. */
const NEVER = 86_400_000;

/**
 * The metrics for Prometheus: counters of what this process has done, gauges of the daemon's state, and metrics of the
 * process. They contain no ids, tokens or keys, and the number of series doesn't grow.
 */
export class Metrics {
  readonly #registry = new Registry();
  readonly observe: Observe;
  readonly #requests: Counter<"operation" | "result">;
  readonly #durations: Histogram<"operation">;
  readonly #syncRequests: Counter<"status">;

  constructor(state: () => DaemonState, clock: Clock) {
    const registers = [this.#registry];
    registerStateMetrics(this.#registry, state);
    this.observe = eventMetrics(this.#registry, clock);
    this.#requests = new Counter({
      name: "groupsync_requests_total",
      help: "Requests to the service. The result is ok or an error code in small letters.",
      labelNames: ["operation", "result"],
      registers,
    });
    this.#durations = new Histogram({
      name: "groupsync_request_duration_seconds",
      help: "Duration of requests to the service.",
      labelNames: ["operation"],
      buckets: REQUEST_SECONDS,
      registers,
    });
    this.#syncRequests = new Counter({
      name: "groupsync_sync_requests_total",
      help: "Replies to POST /sync/{user_group_id}, by HTTP status. Replies with 403, 405 or 421 don't count.",
      labelNames: ["status"],
      registers,
    });
    for (const status of REPLY_STATUSES) this.#syncRequests.inc({ status }, 0);
    for (const operation of OPERATIONS) {
      this.#durations.zero({ operation });
      for (const result of RESULTS) this.#requests.inc({ operation, result }, 0);
    }
    collectDefaultMetrics({ register: this.#registry, eventLoopMonitoringPrecision: NEVER });
    for (const name of [...MISNAMED, ...COSTLY]) this.#registry.removeSingleMetric(name);
  }

  readonly observeCall = ({ operation, result, seconds }: MeasuredCall): void => {
    this.#requests.inc({ operation, result });
    this.#durations.observe({ operation }, seconds);
  };

  readonly observeReply = (status: number): void => this.#syncRequests.inc({ status });

  /** In the text format of Prometheus. */
  text(): Promise<string> {
    return this.#registry.metrics();
  }

  get contentType(): string {
    return this.#registry.contentType;
  }
}
