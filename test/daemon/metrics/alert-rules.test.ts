import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, onTestFinished, test } from "vitest";
import { parse, stringify } from "yaml";
import { Metrics } from "../../../src/daemon/metrics/metrics.ts";
import {
  aCurrentRun,
  aDaemonState,
  aLedgerSnapshot,
  aLedgerStatus,
  aRecordedRun,
  aServingState,
} from "../../builders/daemon-state.ts";
import { aClock } from "../../fakes/set-clock.ts";
import { anchorsOf } from "../../support/pages.ts";
import { findPromtool } from "../../support/servers/promtool.ts";
import { type Family, familiesIn } from "./exposition.ts";

interface Rules {
  readonly groups: readonly { readonly rules: readonly Rule[] }[];
}

interface Rule {
  readonly alert: string;
  readonly annotations: { readonly runbook?: string };
}

interface Scenarios {
  readonly tests: readonly {
    readonly alert_rule_test: readonly {
      readonly alertname: string;
      readonly exp_alerts: readonly object[];
    }[];
  }[];
}

const promtool = await findPromtool();
/** Where the metrics are. */
const sections = [
  sectionOf("README.md", "Metrics and alerts"),
  sectionOf("docs/new-tenants.md", "How to see it"),
  sectionOf("docs/drift.md", "How to see it"),
  sectionOf("docs/rows.md", "How to see it"),
];
const rules = textOf("deploy/prometheus/rules.yaml");
const scenarios = readFileSync(new URL("alert-rules.test.yaml", import.meta.url), "utf8");

describe("the documentation", () => {
  test("has a row for every metric, with its type and labels, and every row has a metric", async () => {
    const own = familiesIn(await everyMetric()).filter(({ name }) => name.startsWith("groupsync_"));
    expect(documented().toSorted(byName)).toEqual(own.toSorted(byName));
  });
});

describe("the alert rules", () => {
  test("are about metrics that there are", async () => {
    const samples = (await everyMetric()).match(/^[a-z_]+/gm);
    const asked = new Set(rules.match(/\b(groupsync|process|nodejs)_[a-z_]+/g));
    expect(asked.size).toBeGreaterThan(0);
    for (const name of asked) expect(samples).toContain(name);
  });

  test.each(allRules().map(({ alert, annotations }) => [alert, annotations.runbook ?? ""]))(
    "%s names a runbook that is there: %s",
    (_, runbook) => {
      const [page = "", anchor = ""] = runbook.split("#");
      expect(anchorsOf(page)).toContain(anchor);
    },
  );

  test("are all tried", () => {
    const written = allRules().map(({ alert }) => alert);
    for (const isRaised of [true, false]) {
      expect([...new Set(tried(isRaised))].sort()).toEqual(written.toSorted());
    }
  });
});

describe.skipIf(promtool === null)("promtool", () => {
  test.each([
    ["of a daemon that knows all", everyMetric],
    ["of one that knows nothing yet", () => new Metrics(aDaemonState, aClock()).text()],
  ])("finds nothing to say against the metrics %s", async (_, metrics) => {
    const input = await metrics();
    expect(await promtool!(["check", "metrics"], { input })).toEqual({ code: 0, output: "" });
  });

  test("takes the rules", async () => {
    const cwd = folderWith({ "rules.yaml": rules });
    const { code, output } = await promtool!(["check", "rules", "rules.yaml"], { cwd });
    expect(output).toContain("SUCCESS");
    expect(code, output).toBe(0);
  });

  test("sees every alert raised when it has to be, and only then", async () => {
    const cwd = folderWith({ "rules.yaml": withoutAnnotations(rules), "scenarios.yaml": scenarios });
    const { code, output } = await promtool!(["test", "rules", "scenarios.yaml"], { cwd });
    expect(code, output).toBe(0);
  });
});

function textOf(path: string): string {
  return readFileSync(new URL(`../../../${path}`, import.meta.url), "utf8");
}

function sectionOf(document: string, title: string): string {
  const [, section] = new RegExp(`\\n## ${title}\\n([^]*?)(?:\\n## |$)`).exec(textOf(document)) ?? [];
  if (section === undefined) throw new Error(`${document} has no section "${title}"`);
  return section;
}

function allRules(): Rule[] {
  return (parse(rules) as Rules).groups.flatMap((group) => group.rules);
}

/** The rows of the tables. */
const documented = (): Family[] =>
  [...sections.join("\n").matchAll(/^\| `(groupsync_\w+)` \| (\w+) \| (.*?)\| /gm)].map(
    ([, name = "", type = "", labels = ""]) => ({
      name,
      type,
      labels: [...labels.matchAll(/`(\w+)`/g)].flatMap(([, label]) => label ?? []).sort(),
    }),
  );

/** The alerts that a scenario expects to be raised, or not to be. */
const tried = (isRaised: boolean): string[] =>
  (parse(scenarios) as Scenarios).tests
    .flatMap(({ alert_rule_test }) => alert_rule_test)
    .flatMap(({ alertname, exp_alerts }) => (exp_alerts.length > 0 === isRaised ? alertname : []));

/** What is said to people may be put otherwise without a scenario that has to say it too. */
function withoutAnnotations(text: string): string {
  const { groups } = parse(text) as Rules;
  const bare = groups.map((group) => ({
    ...group,
    rules: group.rules.map(({ annotations: _, ...rule }) => rule),
  }));
  return stringify({ groups: bare });
}

/** All that a daemon can tell is known. */
function everyMetric(): Promise<string> {
  const state = aDaemonState({
    lastGoodSync: new Date("2026-03-01T00:00:01Z"),
    current: aCurrentRun(),
    serving: aServingState(),
    ledger: aLedgerSnapshot({
      status: aLedgerStatus({ oldestUnsynced: new Date("2026-03-01T00:00:00Z") }),
      history: [aRecordedRun()],
    }),
  });
  return new Metrics(() => state, aClock()).text();
}

function folderWith(files: Readonly<Record<string, string>>): string {
  const folder = mkdtempSync(join(tmpdir(), "groupsync-rules-"));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  for (const [name, text] of Object.entries(files)) writeFileSync(join(folder, name), text);
  return folder;
}

const byName = (one: Family, other: Family): number => (one.name < other.name ? -1 : 1);
