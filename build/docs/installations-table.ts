import type { Step } from "../../test/installations/installation.ts";
import { type Result, results } from "../../test/installations/results.ts";
import { markdownTable } from "./markdown-table.ts";

/** The installations on which the long suite has run the program, and where they can't be had. */
export function installationsTable(): string {
  const steps = Object.values(STEPS).filter((text) => text !== undefined);
  return [
    markdownTable(["server", "version", "setup", "tested", "not tested"], rowsOf(results())),
    `*All* means: ${steps.join("; ")}. At the end all tenants, groups and tokens are compared.`,
  ].join("\n");
}

/** What is shown of each step; undefined if only one kind of installation has it. */
const STEPS: Readonly<Record<Step, string | undefined>> = {
  init: "what `init` writes",
  check: "`check`",
  probe: "`probe`",
  sync: "`plan` and two syncs",
  changes: "new and changed tenants",
  deletions: "deletions, also beyond the limit",
  failure: "a token that the table refuses",
  rotation: "rotation",
  "kill -9": "`kill -9` during a sync",
  column: "tenants noticed by a column",
  channel: "and by a channel",
  failover: undefined,
};

/** What no test can start, in the table's columns. */
const NEVER_TRIED: readonly (readonly string[])[] = [
  ["MySQL", "", "direct connection", "", "all, because no package registry has the server"],
  ["distributed SQL", "", "such as CockroachDB, YugabyteDB, TiDB, Vitess", "", "all"],
];

/** Installations of one kind share a row. */
function rowsOf(results: readonly Result[]): readonly (readonly string[])[] {
  const kinds = new Map<string, Result[]>();
  for (const result of results) {
    const kind = `${result.server}, ${result.through}`;
    kinds.set(kind, [...(kinds.get(kind) ?? []), result]);
  }
  const servers = new Set<string>(results.map(({ server }) => server));
  return [
    ...[...kinds.values()].flatMap(rowOf),
    ...NEVER_TRIED.filter(([server = ""]) => !servers.has(server)),
  ];
}

function rowOf(kind: readonly Result[]): readonly (readonly string[])[] {
  const [first] = kind;
  if (first === undefined) return [];
  const lived = kind.filter(({ refused }) => !refused);
  const refused = kind.filter(({ refused }) => refused);
  const versions = new Set(
    kind.map(({ version, between }) => (between ? `${version}; ${between}` : version)),
  );
  const where = first.through || "direct connection";
  const variants = variantsOf(lived);
  const through = variants === "" ? where : `${variants}: ${where}`;
  const isRefused = refused.length === 0 ? [] : [`${variantsOf(refused)}, refused by \`check\``];
  const notShown = [...Object.values(first.cannot ?? {}), ...isRefused].join("; ");
  return [[first.server, [...versions].join(", "), through, shownBy(lived), notShown]];
}

function variantsOf(results: readonly Result[]): string {
  const variants = results.flatMap(({ variant }) => variant ?? []);
  return variants.length > 3 ? `${variants.length} variants` : variants.join(", ");
}

function shownBy(results: readonly Result[]): string {
  const shown = (step: Step): boolean => results.every((result) => result.shown.includes(step));
  const missing = (Object.keys(STEPS) as Step[]).filter((step) => STEPS[step] !== undefined && !shown(step));
  const most = missing.length === 0 ? "all" : `all but ${missing.join(", ")}`;
  return shown("failover") ? `${most}, and a failover` : most;
}
