import { describe, expect, onTestFinished, test } from "vitest";
import { aDaemon, EVERY_SECOND } from "../e2e/daemon/a-daemon.ts";
import { aWorld, idOf, until } from "../e2e/world.ts";
import { findPrometheus } from "../support/servers/prometheus.ts";
import { type Manifest, textOf } from "./files.ts";

const startPrometheus = await findPrometheus();
const dashboard: Manifest = JSON.parse(textOf("deploy/grafana/dashboard.json"));
const panels: Manifest[] = dashboard.panels.filter(({ type }: Manifest) => type !== "row");

interface Query {
  readonly expression: string;
  /** The labels that tell its series apart for whoever looks. */
  readonly labels: readonly string[];
}

/** Each query of the dashboard, with values in place of Grafana's variables. */
const queries: readonly Query[] = panels.flatMap(({ targets }) =>
  targets.map(({ expr, legendFormat }: Manifest) => ({
    expression: expr
      .replaceAll("$__rate_interval", "1m")
      .replaceAll("$job", "groupsync")
      .replaceAll("$instance", ".*")
      // Grafana hides series that stand still. They have to be there all the same.
      .replace(/ > 0$/, ""),
    labels: [...legendFormat.matchAll(/\{\{(\w+)\}\}/g)].map(([, label]) => label),
  })),
);
/** Known only while a run goes on. */
const MAY_BE_EMPTY = /current_run/;

test("leaves the data source, the job and the instance to whoever looks", () => {
  expect(dashboard.templating.list.map(({ name }: Manifest) => name)).toEqual([
    "datasource",
    "job",
    "instance",
  ]);
  for (const { title, datasource, targets } of panels) {
    expect(datasource.uid, title).toMatch(/^\$\{datasource\}$/);
    for (const { expr } of targets) {
      const selectors = expr.match(/\b(groupsync|process|nodejs)_\w+|\bup\b/g) ?? [];
      expect(expr.split('{job=~"$job", instance=~"$instance"').length - 1, expr).toBe(selectors.length);
    }
  }
});

describe.skipIf(startPrometheus === null)("Prometheus", () => {
  test("answers every query from the metrics of a daemon, and takes the alert rules beside them", async () => {
    // A group that fails and a row that is rejected: then the metrics of problems are there, too.
    const world = await aWorld({
      service: { poison: new Map([[idOf(1), "success0"]]) },
      config: { ...EVERY_SECOND, source: { changes: { channel: "customers_changed" } } },
    });
    await world.database.query("UPDATE customers SET warehouse = NULL WHERE id = $1", [idOf(2)]);
    const daemon = await aDaemon(world);
    await daemon.ran(1);
    const [, address = ""] = /metrics on http:\/\/([\d.:]+)/.exec(daemon.program.output()) ?? [];
    const prometheus = await startPrometheus!(address, textOf("deploy/prometheus/rules.yaml"));
    onTestFinished(prometheus.stop);

    // A rate takes two scrapes.
    await until(async () => (await prometheus.query("rate(groupsync_runs_total[1m]) > 0")).length > 0);
    const empty: string[] = [];
    for (const { expression, labels } of queries) {
      const answer = await prometheus.query(expression);
      if (answer.length === 0) empty.push(expression);
      for (const { metric } of answer) {
        expect(Object.keys(metric), expression).toEqual(expect.arrayContaining([...labels]));
      }
    }
    expect(empty.filter((expression) => !MAY_BE_EMPTY.test(expression))).toEqual([]);

    const metrics = (await daemon.page("/metrics")).text;
    const asked = new Set(JSON.stringify(queries).match(/\b(groupsync|process|nodejs)_\w+/g));
    for (const name of asked) expect(metrics).toMatch(new RegExp(`^(# TYPE )?${base(name)}\\b`, "m"));
    await until(async () => (await prometheus.query('ALERTS{alertname="GroupsyncRowsRejected"}')).length > 0);
  });
});

/** Without what a histogram's samples have behind its name. */
const base = (name: string): string => name.replace(/_bucket$/, "");
