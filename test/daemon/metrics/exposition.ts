/** One metric in the text format of Prometheus. */
export interface Family {
  readonly name: string;
  readonly type: string;
  /** In alphabetical order; without the one that only a histogram's buckets have. */
  readonly labels: readonly string[];
}

/** The samples, each by its name and labels as they are written: `x_total{operation="get"}`. */
export const samplesIn = (text: string): Readonly<Record<string, number>> =>
  Object.fromEntries(
    [...text.matchAll(/^([a-z_]+(?:\{.*\})?) (\S+)$/gm)].map(([, name = "", value]) => [name, Number(value)]),
  );

export function familiesIn(text: string): Family[] {
  const names = Object.keys(samplesIn(text));
  return [...text.matchAll(/^# TYPE (\S+) (\S+)$/gm)].map(([, name = "", type = ""]) => {
    const own = names.filter((sample) => sample.replace(/\{.*/, "").replace(SUFFIX[type] ?? "", "") === name);
    const labels = new Set(
      own.flatMap((sample) => [...sample.matchAll(/[{,]([a-z_]+)="/g)].map(([, label]) => label ?? "")),
    );
    labels.delete("le");
    return { name, type, labels: [...labels].sort() };
  });
}

const SUFFIX: Readonly<Record<string, RegExp>> = { histogram: /_(bucket|sum|count)$/ };
