import perfHooks from "node:perf_hooks";
import { describe, expect, test, vi } from "vitest";
import { SERVICE_FAILURES } from "../../../src/core/failure/service-failure.ts";
import { Metrics } from "../../../src/daemon/metrics/metrics.ts";
import { aDaemonState } from "../../builders/daemon-state.ts";
import { aClock } from "../../fakes/set-clock.ts";
import { samplesIn } from "./exposition.ts";

describe("of requests", () => {
  test("they count by operation and result, and their time by operation", async () => {
    const metrics = new Metrics(aDaemonState, aClock());
    metrics.observeCall({ operation: "get", result: "ok", seconds: 0.02 });
    metrics.observeCall({ operation: "get", result: "throttled", seconds: 0.003 });
    expect(await samplesOf(metrics)).toMatchObject({
      'groupsync_requests_total{operation="get",result="ok"}': 1,
      'groupsync_requests_total{operation="get",result="throttled"}': 1,
      'groupsync_request_duration_seconds_bucket{le="0.005",operation="get"}': 1,
      'groupsync_request_duration_seconds_bucket{le="0.025",operation="get"}': 2,
      'groupsync_request_duration_seconds_count{operation="post"}': 0,
    });
  });

  test("every way to end is there from the start, with 0", async () => {
    const samples = await samplesOf(new Metrics(aDaemonState, aClock()));
    for (const operation of ["get", "post", "delete"]) {
      for (const result of ["ok", ...Object.keys(SERVICE_FAILURES).map((code) => code.toLowerCase())]) {
        expect(samples).toHaveProperty(
          [`groupsync_requests_total{operation="${operation}",result="${result}"}`],
          0,
        );
      }
    }
  });
});

test("replies to POST /sync count by status, each from the start with 0", async () => {
  const metrics = new Metrics(aDaemonState, aClock());
  metrics.observeReply(200);
  metrics.observeReply(200);
  expect(await samplesOf(metrics)).toMatchObject({
    'groupsync_sync_requests_total{status="200"}': 2,
    'groupsync_sync_requests_total{status="401"}': 0,
    'groupsync_sync_requests_total{status="429"}': 0,
  });
});

test("no measurement wakes an idle process", async () => {
  const monitor = vi.spyOn(perfHooks, "monitorEventLoopDelay");
  const metrics = new Metrics(aDaemonState, aClock());
  const periods = monitor.mock.calls.map(([options]) => options?.resolution ?? 0);
  monitor.mockRestore();
  expect(Math.min(...periods)).toBeGreaterThan(3_600_000);
  const samples = await samplesOf(metrics);
  expect(samples).toHaveProperty("nodejs_eventloop_lag_seconds");
  expect(samples).not.toHaveProperty("nodejs_eventloop_lag_mean_seconds");
});

const samplesOf = async (metrics: Metrics) => samplesIn(await metrics.text());
