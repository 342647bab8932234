import { everyMetric } from "../../test/builders/every-metric.ts";
import { markdownTable } from "./markdown-table.ts";

/** The metrics of groupsync itself, as a daemon shows them that knows all; or these alone, in this order. */
export async function metricsTable(...names: readonly string[]): Promise<string> {
  const metrics = metricsIn(await everyMetric());
  const wanted = names.map((name) => {
    const found = metrics.find((metric) => metric.name === name);
    if (found === undefined) throw new Error(`there is no metric ${name}`);
    return found;
  });
  return markdownTable(
    ["metric", "labels", "meaning"],
    (names.length === 0 ? metrics : wanted).map(({ name, labels, meaning }) => [
      `\`${name}\``,
      labels.map(labelText).join("; "),
      meaning.replace(CONFIG_KEY, "`$&`"),
    ]),
  );
}

const CONFIG_KEY = /\b(?:deletion|http|service|source)\.[a-z_]+/g;

interface Metric {
  readonly name: string;
  readonly labels: readonly (readonly [name: string, values: readonly string[]])[];
  readonly meaning: string;
}

const FAMILY = /^# HELP (groupsync_\S+) (.*)\n# TYPE .*\n((?:[^#\n].*\n)*)/gm;
const LABEL = /[{,]([a-z_]+)="([^"]*)"/g;

/** What stands in a text in the format of Prometheus. */
const metricsIn = (text: string): Metric[] =>
  [...text.matchAll(FAMILY)].map(([, name = "", meaning = "", samples = ""]) => {
    const values = new Map<string, Set<string>>();
    for (const [, label = "", value = ""] of samples.matchAll(LABEL)) {
      if (label !== "le") values.set(label, (values.get(label) ?? new Set()).add(value));
    }
    return {
      name,
      labels: [...values].map(([label, found]) => [label, [...found]] as const),
      meaning,
    };
  });

/** A label with its values; without them if it can have any value. */
const labelText = ([name, values]: Metric["labels"][number]): string =>
  values.length === 1 ? `\`${name}\`` : `\`${name}\`: ${values.map((value) => `\`${value}\``).join(", ")}`;
