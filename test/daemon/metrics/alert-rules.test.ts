import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { parse, stringify } from "yaml";
import manifest from "../../../package.json" with { type: "json" };
import { KNOWN_CODES } from "../../../src/core/failure/error-codes.ts";
import { Metrics } from "../../../src/daemon/metrics/metrics.ts";
import { aDaemonState } from "../../builders/daemon-state.ts";
import { everyMetric } from "../../builders/every-metric.ts";
import { aClock } from "../../fakes/set-clock.ts";
import { anchorsOf } from "../../support/pages.ts";
import { findPromtool } from "../../support/servers/debian-program.ts";
import { temporaryFolder } from "../../support/temporary-folder.ts";

interface Rules {
  readonly groups: readonly { readonly rules: readonly Rule[] }[];
}

interface Rule {
  readonly alert: string;
  readonly annotations: { readonly runbook_url?: string; readonly description?: string };
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
const rules = textOf("deploy/prometheus/rules.yaml");
const scenarios = readFileSync(new URL("alert-rules.test.yaml", import.meta.url), "utf8");

describe("the alert rules", () => {
  test("are about metrics that there are", async () => {
    const samples = (await everyMetric()).match(/^[a-z_]+/gm);
    const asked = new Set(rules.match(/\b(groupsync|process|nodejs)_[a-z_]+/g));
    expect(asked.size).toBeGreaterThan(0);
    for (const name of asked) expect(samples).toContain(name);
  });

  test.each(allRules().map(({ alert, annotations }) => [alert, annotations.runbook_url ?? "", annotations]))(
    "%s names a runbook that is there: %s",
    (_, url, { description = "" }) => {
      const pages = `${manifest.repository.replace(/\.git$/, "")}/blob/main/`;
      expect(url.startsWith(pages)).toBe(true);
      const [page = "", anchor = ""] = url.slice(pages.length).split("#");
      expect(anchorsOf(page)).toContain(anchor);
      // Whoever has no page at hand is told what to look at, and no code that help doesn't know.
      expect(description).not.toBe("");
      const codes = [...description.matchAll(/groupsync help (\w+)/g)].map(([, code]) => code);
      expect(KNOWN_CODES).toEqual(expect.arrayContaining(codes));
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

function allRules(): Rule[] {
  return (parse(rules) as Rules).groups.flatMap((group) => group.rules);
}

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

function folderWith(files: Readonly<Record<string, string>>): string {
  const folder = temporaryFolder();
  for (const [name, text] of Object.entries(files)) writeFileSync(join(folder, name), text);
  return folder;
}
