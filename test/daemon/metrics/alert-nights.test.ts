import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { parse, stringify } from "yaml";
import { findPromtool } from "../../support/servers/debian-program.ts";
import { temporaryFolder } from "../../support/temporary-folder.ts";

/** Values of a metric, a sample a minute, as promtool writes them. The key may have labels. */
type Series = Readonly<Record<string, string>>;

interface Night {
  readonly name: string;
  /** What isn't as in a quiet night. */
  readonly series: Series;
  /** All alerts that are raised in the end, with the labels that a series gives them. No other one is. */
  readonly raised: Readonly<Record<string, object>>;
}

interface Rule {
  readonly alert: string;
  readonly labels: object;
}

/** When the alerts are looked at. Every series has this many samples, and more. */
const END = 600;

const QUIET: Series = {
  up: "1x700",
  process_start_time_seconds: "0x700",
  groupsync_stale_at_timestamp_seconds: "900+60x700",
  groupsync_last_good_sync_timestamp_seconds: "0+60x700",
  groupsync_last_answer_timestamp_seconds: "0+60x700",
  groupsync_unstored_tokens_total: "0x700",
  'groupsync_runs_total{outcome="ok"}': "0+1x700",
  'groupsync_runs_total{outcome="failed"}': "0x700",
  groupsync_config_last_reload_successful: "1x700",
  'groupsync_notify_last_send_successful{to="webhook"}': "1x700",
  groupsync_clocks_differ: "0x700",
  groupsync_held_removals: "0x700",
  groupsync_refresh_held: "0x700",
  'groupsync_groups_in_state{state="failing"}': "0x700",
  'groupsync_groups_in_state{state="wanted"}': "0x700",
  'groupsync_groups_in_state{state="in_doubt"}': "0x700",
  groupsync_oldest_token_timestamp_seconds: "0x700",
  groupsync_rejected_rows: "0x700",
  groupsync_recently_missing_groups: "0x700",
  groupsync_removals_allowed: "10x700",
  groupsync_missing_groups_to_be_held: "0x700",
  groupsync_throttle_seconds_total: "0x700",
  'groupsync_drift_total{drift="token"}': "0x700",
  'groupsync_noticing_up{feed="column"}': "1x700",
  groupsync_oldest_unserved_tenant_seconds: "0x700",
};

/** From the second hour on no sync reaches its end. */
const NOTHING_SYNCS: Series = {
  groupsync_stale_at_timestamp_seconds: "900+60x60 4500x640",
  groupsync_last_good_sync_timestamp_seconds: "0+60x60 3600x640",
  'groupsync_runs_total{outcome="failed"}': "0x60 0+1x640",
};

const NIGHTS: readonly Night[] = [
  { name: "a quiet night", series: {}, raised: {} },
  {
    name: "the service is down, or the API key is revoked",
    series: { ...NOTHING_SYNCS, groupsync_last_answer_timestamp_seconds: "0+60x60 3600x640" },
    raised: { GroupsyncStale: {}, GroupsyncRunsFailing: { outcome: "failed" }, GroupsyncServiceSilent: {} },
  },
  {
    name: "the source is locked, and new tenants get their tokens all the same",
    series: NOTHING_SYNCS,
    raised: { GroupsyncStale: {}, GroupsyncRunsFailing: { outcome: "failed" } },
  },
  {
    name: "40 of 100 tenants are gone",
    series: {
      groupsync_recently_missing_groups: "0x60 40x640",
      groupsync_missing_groups_to_be_held: "0x60 30x640",
    },
    raised: { GroupsyncTenantsMissing: {} },
  },
  {
    name: "30 rows are rejected",
    series: { groupsync_rejected_rows: "0x60 30x640" },
    raised: { GroupsyncRowsRejected: {} },
  },
  {
    name: "the right to insert tokens is lost",
    series: {
      'groupsync_groups_in_state{state="failing"}': "0x60 3x640",
      groupsync_oldest_unsynced_timestamp_seconds: "_x60 3600x640",
    },
    raised: { GroupsyncGroupsFailing: { state: "failing" }, GroupsyncChangeUnsynced: {} },
  },
  {
    name: "a config is rejected at SIGHUP",
    series: { groupsync_config_last_reload_successful: "1x60 0x640" },
    raised: { GroupsyncConfigRejected: {} },
  },
  {
    name: "a wanted rotation is stuck",
    series: { 'groupsync_groups_in_state{state="wanted"}': "0x60 1x640" },
    raised: { GroupsyncTokensWanted: { state: "wanted" } },
  },
  {
    name: "the ledger's database fails over to a replica that lacks the last commits",
    series: { 'groupsync_groups_in_state{state="in_doubt"}': "0x60 100x640" },
    raised: { GroupsyncGroupsInDoubt: { state: "in_doubt" } },
  },
  {
    name: "the webhook is dead",
    series: { 'groupsync_notify_last_send_successful{to="webhook"}': "1x60 0x640" },
    raised: { GroupsyncNotifyFailing: { to: "webhook" } },
  },
  {
    name: "the host's clock is ten minutes ahead",
    series: { groupsync_clocks_differ: "0x60 1x640" },
    raised: { GroupsyncClocksDiffer: {} },
  },
];

const promtool = await findPromtool();
const text = readFileSync(new URL("../../../deploy/prometheus/rules.yaml", import.meta.url), "utf8");
const { groups } = parse(text) as { groups: { rules: (Rule & { annotations: object })[] }[] };
const rules: readonly Rule[] = groups.flatMap((group) => group.rules);

test.skipIf(promtool === null).each(NIGHTS)("$name raises its alerts, and no other", async (night) => {
  const cwd = temporaryFolder();
  writeFileSync(join(cwd, "rules.yaml"), stringify({ groups: withoutTexts() }));
  writeFileSync(join(cwd, "night.yaml"), stringify(asScenario(night)));
  const { code, output } = await promtool!(["test", "rules", "night.yaml"], { cwd });
  expect(code, output).toBe(0);
});

const withoutTexts = () =>
  groups.map((group) => ({ ...group, rules: group.rules.map(({ annotations: _, ...rule }) => rule) }));

function asScenario({ series, raised }: Night): object {
  const expected = rules.map(({ alert, labels }) => ({
    alertname: alert,
    eval_time: `${END}m`,
    exp_alerts:
      alert in raised
        ? [{ exp_labels: { job: "groupsync", instance: "a", ...labels, ...raised[alert] } }]
        : [],
  }));
  return {
    rule_files: ["rules.yaml"],
    evaluation_interval: "1m",
    tests: [
      {
        interval: "1m",
        input_series: Object.entries({ ...QUIET, ...series }).map(([name, values]) => ({
          series: ofInstance(name),
          values,
        })),
        alert_rule_test: expected,
      },
    ],
  };
}

/** The series with the labels that a scrape gives it. */
function ofInstance(name: string): string {
  const [metric = "", labels = ""] = name.split("{");
  return `${metric}{job="groupsync", instance="a", ${labels === "" ? "}" : labels}`;
}
