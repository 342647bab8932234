import { describe, expect, test } from "vitest";
import { Metrics } from "../../../src/daemon/metrics/metrics.ts";
import type { DaemonState } from "../../../src/daemon/state/state.ts";
import type { Served } from "../../../src/ports/serve-tenant.ts";
import { aBrokenWay, aDaemonState, anAliveWay, aServingState } from "../../builders/daemon-state.ts";
import { aClock } from "../../fakes/set-clock.ts";
import { samplesIn } from "./exposition.ts";

describe("tenants that are served singly", () => {
  test("count by what became of them, each from the start with 0", async () => {
    const samples = await samplesAfter(
      [{ kind: "done", outcome: "created" }, 84],
      [{ kind: "done", outcome: "unchanged" }, 9],
      [{ kind: "unknown" }, 9],
      [{ kind: "conflict", outcome: "held", code: "NEEDS_FULL_SYNC", message: "no" }, 9],
      [{ kind: "failed", code: "TIMEOUT", message: "no" }, 9],
    );
    const ends = ["created", "unchanged", "unknown", "held", "failed"];
    for (const outcome of [
      ...ends,
      "adopted",
      "updated",
      "replaced",
      "restored",
      "rejected",
      "waiting",
      "outdated",
    ])
      expect(samples).toHaveProperty(
        [`groupsync_served_tenants_total{outcome="${outcome}"}`],
        ends.includes(outcome) ? 1 : 0,
      );
  });

  test.each(["created", "adopted", "updated", "replaced", "restored"] as const)(
    "are measured from the notice to the stored token: %s",
    async (outcome) => {
      expect(await samplesAfter([{ kind: "done", outcome }, 120])).toMatchObject({
        'groupsync_notice_to_token_seconds_bucket{le="0.1"}': 0,
        'groupsync_notice_to_token_seconds_bucket{le="0.15"}': 1,
        groupsync_notice_to_token_seconds_sum: 0.12,
      });
    },
  );

  test("are not measured if no token was to be stored, or none could be", async () => {
    const samples = await samplesAfter(
      [{ kind: "done", outcome: "unchanged" }, 9],
      [{ kind: "unknown" }, 9],
      [{ kind: "pending" }, 9],
      [{ kind: "failed", code: "TIMEOUT", message: "no" }, 9],
    );
    expect(samples).toMatchObject({ groupsync_notice_to_token_seconds_count: 0 });
  });

  test("have waited for so long, unless another instance serves them", async () => {
    const serving = aServingState({ oldestMs: 1_500 });
    const standby = { since: new Date(0), message: "another instance is at work" };
    const name = "groupsync_oldest_unserved_tenant_seconds";
    expect(await samplesOf({ serving })).toHaveProperty(name, 1.5);
    expect(await samplesOf({ serving, standby })).not.toHaveProperty(name);
    expect(await samplesOf({ serving: null })).not.toHaveProperty(name);
  });
});

describe("a way of noticing tenants", () => {
  test("is up, or it isn't", async () => {
    const since = new Date(0);
    const up = async (channel: Parameters<typeof waysWith>[0]) =>
      (await samplesOf(waysWith(channel)))['groupsync_noticing_up{way="channel"}'];
    expect(await up(anAliveWay())).toBe(1);
    expect(await up(aBrokenWay())).toBe(0);
    expect(await up({ kind: "starting", since })).toBe(0);
  });

  test("has no sample if the config doesn't name it, or while another instance has the lease", async () => {
    const samples = Object.keys(await samplesOf(waysWith({ kind: "off" })));
    expect(samples.filter((sample) => sample.startsWith("groupsync_noticing_up"))).toEqual([]);
  });
});

const waysWith = (channel: ReturnType<typeof anAliveWay>): Partial<DaemonState> => ({
  serving: aServingState({ ways: { column: null, channel } }),
});

async function samplesAfter(...ends: readonly (readonly [Served, ms: number])[]) {
  const metrics = new Metrics(aDaemonState, aClock());
  for (const [served, ms] of ends) metrics.observe({ kind: "served", user_group_id: "acme", served, ms });
  return samplesIn(await metrics.text());
}

const samplesOf = async (state: Partial<DaemonState>) =>
  samplesIn(await new Metrics(() => aDaemonState(state), aClock()).text());
