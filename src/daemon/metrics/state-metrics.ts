import { Counter, Gauge, type Registry } from "prom-client";
import { isClockDifference } from "../../core/failure/sync-error.ts";
import { rejectedRows } from "../../core/group/rejections.ts";
import { type DaemonState, GROUP_STATES, isGoodSync } from "../../core/report/scope-facts.ts";

/** Null or undefined if not known. Then the metric has no sample, instead of 0 or NaN. */
type Sample = number | null | undefined;

interface StateGauge {
  readonly name: string;
  readonly help: string;
  readonly value: (state: DaemonState) => Sample;
}

const GAUGES: readonly StateGauge[] = [
  {
    name: "groupsync_last_good_sync_timestamp_seconds",
    help: "When a sync of any instance last reached its end (ok, partial or held).",
    value: ({ lastGoodSync }) => timestamp(lastGoodSync),
  },
  {
    name: "groupsync_last_answer_timestamp_seconds",
    help: "When the service last gave any instance a good answer.",
    value: ({ lastAnswer }) => timestamp(lastAnswer),
  },
  {
    name: "groupsync_stale_at_timestamp_seconds",
    help: "When the last good sync becomes too old (http.stale_after).",
    value: ({ staleAt }) => timestamp(staleAt),
  },
  {
    name: "groupsync_next_run_timestamp_seconds",
    help: "When the next run begins.",
    value: ({ nextRun }) => timestamp(nextRun),
  },
  {
    name: "groupsync_standby",
    help: "1 while this instance waits for the lease, otherwise 0.",
    value: ({ standby }) => (standby === null ? 0 : 1),
  },
  {
    name: "groupsync_config_last_reload_successful",
    help: "0 if the daemon has rejected the config that it read last, otherwise 1.",
    value: ({ rejectedConfig }) => (rejectedConfig === null ? 1 : 0),
  },
  {
    name: "groupsync_current_run_start_timestamp_seconds",
    help: "When the present run began.",
    value: ({ current }) => timestamp(current?.since),
  },
  {
    name: "groupsync_current_run_planned_changes",
    help: "Changes that the present run has planned.",
    value: ({ current }) => current?.total,
  },
  {
    name: "groupsync_current_run_done_changes",
    help: "Changes of the present run that are done or have failed.",
    value: ({ current }) => current?.done,
  },
  {
    name: "groupsync_ledger_read_timestamp_seconds",
    help: "When the ledger was last read for these metrics.",
    value: ({ ledger }) => timestamp(ledger?.readAt),
  },
  {
    name: "groupsync_clocks_differ",
    help: "1 if the clocks of groupsync's host and the ledger's database differ too much for deletions, otherwise 0.",
    value: ({ ledger }) => ledger && (clocksDiffer(ledger) ? 1 : 0),
  },
  {
    name: "groupsync_groups",
    help: "Groups in the ledger.",
    value: ({ ledger }) => ledger?.groups.total,
  },
  {
    name: "groupsync_held_removals",
    help: "Deletions and replacements that groupsync holds back (DELETIONS_HELD).",
    value: ({ ledger }) => ledger && (ledger.held?.count ?? 0),
  },
  {
    name: "groupsync_refresh_held",
    help: "1 while refreshes are stopped (REFRESH_HELD), otherwise 0.",
    value: ({ ledger }) => ledger && (ledger.refreshHold ? 1 : 0),
  },
  {
    name: "groupsync_recently_missing_groups",
    help: "Groups whose tenants went missing in the last 24 hours. Held groups don't count.",
    value: ({ ledger }) => ledger?.missing.count,
  },
  {
    name: "groupsync_removals_allowed",
    help: "How many groups deletion.limit allows groupsync to remove in 24 hours.",
    value: ({ ledger }) => ledger?.missing.allowed,
  },
  {
    name: "groupsync_missing_groups_to_be_held",
    help: "Missing groups that deletion.limit will hold when their grace period is over.",
    value: ({ ledger }) => ledger?.missing.toBeHeld,
  },
  {
    name: "groupsync_rejected_rows",
    help: "Rows of the source that groupsync can't use.",
    value: ({ ledger }) => ledger && rejectedRows(ledger.rejected),
  },
  {
    name: "groupsync_oldest_rejected_row_timestamp_seconds",
    help: "When groupsync first rejected the oldest of the rejected rows.",
    value: ({ ledger }) => ledger && timestamp(oldestOf(ledger.rejected.map(({ since }) => since))),
  },
  {
    name: "groupsync_not_ready_rows",
    help: "Rows that wait for source.ready_when.",
    value: ({ ledger }) => lastSyncCounts(ledger)?.not_ready,
  },
  {
    name: "groupsync_oldest_unsynced_timestamp_seconds",
    help: "Since when the oldest failing or unfinished change waits.",
    value: ({ ledger }) => timestamp(ledger?.oldestUnsynced),
  },
  {
    name: "groupsync_oldest_token_timestamp_seconds",
    help: "Since when the oldest token is live.",
    value: ({ ledger }) => timestamp(ledger?.oldestToken),
  },
  {
    name: "groupsync_oldest_unserved_tenant_seconds",
    help: "How long the oldest noticed tenant has waited, or 0. Tenants with failing changes don't count.",
    // While this instance stands by, another one serves.
    value: ({ serving, standby }) => (serving === null || standby !== null ? null : serving.oldestMs / 1_000),
  },
];

const NOTIFIED = ["webhook", "heartbeat"] as const;

/** Registers the metrics that are computed from the daemon's state at each scrape. */
export function registerStateMetrics(registry: Registry, state: () => DaemonState): void {
  const registers = [registry];
  for (const { name, help, value } of GAUGES) {
    new Gauge({
      name,
      help,
      registers,
      collect() {
        const known = value(state());
        if (known === null || known === undefined) this.remove();
        else this.set(known);
      },
    });
  }
  new Gauge({
    name: "groupsync_groups_in_state",
    help: "Groups in the ledger, by state.",
    labelNames: ["state"],
    registers,
    collect() {
      this.reset();
      const groups = state().ledger?.groups;
      if (groups) for (const name of GROUP_STATES) this.set({ state: name }, groups[name]);
    },
  });
  new Gauge({
    name: "groupsync_notify_last_send_successful",
    help: "0 if groupsync could not send its last message, otherwise 1.",
    labelNames: ["to"],
    registers,
    collect() {
      const unreached = state().unreached.map(({ key }) => key);
      for (const to of NOTIFIED) this.set({ to }, unreached.includes(`notify.${to}`) ? 0 : 1);
    },
  });
  new Gauge({
    name: "groupsync_noticing_up",
    help: "1 while groupsync notices tenants by this feed, 0 while the feed is broken.",
    labelNames: ["feed"],
    registers,
    collect() {
      this.reset();
      for (const [feed, known] of Object.entries(state().serving?.feeds ?? {}))
        if (known !== null) this.set({ feed }, known.failure === null ? 1 : 0);
    },
  });
  new Counter({
    name: "groupsync_skipped_runs_total",
    help: "Scheduled times that came during a run.",
    registers,
    collect() {
      this.reset();
      this.inc(state().skippedRuns);
    },
  });
  new Gauge({
    name: "groupsync_build_info",
    help: "The version, as a label.",
    labelNames: ["version"],
    registers,
    collect() {
      this.set({ version: state().version }, 1);
    },
  });
}

const oldestOf = (times: readonly Date[]): Date | null =>
  times.reduce<Date | null>((oldest, time) => (oldest && oldest < time ? oldest : time), null);

const timestamp = (at: Date | null | undefined): Sample => at && at.getTime() / 1_000;

/** As the last sync that ended has found. */
function clocksDiffer({ runs }: NonNullable<DaemonState["ledger"]>): boolean {
  const last = runs.find(({ command, result }) => command === "sync" && result !== null);
  return last?.result?.error ? isClockDifference(last.result.error) : false;
}

const lastSyncCounts = (ledger: DaemonState["ledger"]) => ledger?.runs.find(isGoodSync)?.result?.counts;
