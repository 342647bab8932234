import { readdirSync, readFileSync } from "node:fs";
import { sep } from "node:path";
import { describe, expect, test } from "vitest";
import { breaches, type Rules, type SourceFile } from "./support/layers.ts";

/** Who may import whom. A layer that is not here may not exist. */
const RULES: Rules = {
  layers: {
    core: {
      layers: [],
      packages: [],
      node: ["crypto", "util"],
      rooms: {
        text: [],
        changes: [],
        failure: [],
        limits: [],
        serving: [],
        tls: [],
        setup: ["text", "tls"],
        secret: [],
        group: ["failure", "secret", "text"],
        rotation: ["failure"],
        plan: ["failure", "group", "text"],
        deletion: ["failure", "group", "plan", "record", "text"],
        drift: ["failure", "group", "plan", "text"],
        apply: ["drift", "failure", "group", "plan", "secret"],
        record: ["apply", "failure", "group", "plan", "rotation"],
        tokens: ["failure", "group", "secret", "text"],
        report: ["deletion", "drift", "failure", "group", "text"],
        probe: ["apply", "group", "plan", "record", "report", "secret"],
      },
    },
    ports: { layers: ["core"], packages: [], node: [] },
    engine: {
      layers: ["core", "ports"],
      packages: [],
      node: [],
      rooms: {
        lease: [],
        report: [],
        plan: ["lease", "report"],
        explain: ["check", "plan", "refresh"],
        tokens: ["lease"],
        scope: [],
        service: ["lease", "report", "scope", "tokens"],
        loop: ["lease", "plan", "report", "service", "tokens"],
        check: ["plan", "refresh", "service", "tokens", "verify"],
        verify: ["loop", "lease", "plan", "report", "tokens"],
        refresh: ["loop", "lease", "plan", "report", "service"],
        serving: ["loop", "lease", "plan", "refresh", "report", "verify"],
      },
    },

    "adapters/disk": { layers: ["core", "ports"], packages: [], node: "all" },
    "adapters/host": { layers: ["core", "ports"], packages: [], node: "all" },
    "adapters/log": { layers: ["core", "ports"], packages: ["pino", "pino-pretty"], node: "all" },
    "adapters/mysql": { layers: ["core", "ports", "adapters/sql"], packages: ["mysql2"], node: "all" },
    "adapters/postgres": {
      layers: ["core", "ports", "adapters/sql"],
      packages: ["pg", "pg-cursor", "postgres-array"],
      node: "all",
    },
    "adapters/notify": { layers: ["core", "ports"], packages: ["undici"], node: "all" },
    "adapters/sql": { layers: ["core", "ports"], packages: [], node: "all" },
    "adapters/service": { layers: ["core", "ports"], packages: ["undici", "zod"], node: "all" },
    "adapters/undici-parts.d.ts": { layers: [], packages: ["undici"], node: [] },
    "adapters/terminal": { layers: ["core", "ports"], packages: [], node: "all" },

    "adapters/token-stores": {
      layers: ["core", "ports"],
      packages: [
        "@aws-sdk/client-secrets-manager",
        "@azure/identity",
        "@azure/keyvault-secrets",
        "@azure/logger",
        "@google-cloud/secret-manager",
        "@kubernetes/client-node",
        "google-gax",
        "google-logging-utils",
        "undici",
      ],
      node: "all",
    },

    config: { layers: ["core"], packages: ["leven", "croner", "yaml", "zod"], node: "all" },
    daemon: { layers: ["core", "engine", "ports"], packages: ["croner", "prom-client"], node: "all" },
    sandbox: { layers: ["core", "ports"], packages: ["zod"], node: "all" },
    commands: {
      layers: ["compose", "config", "core", "daemon", "engine", "ports", "sandbox"],
      packages: ["commander", "leven", "yaml"],
      node: "all",
    },

    compose: { layers: "all", packages: [], node: "all" },
    "cli.ts": { layers: "all", packages: ["commander"], node: "all" },
    "main.ts": { layers: "all", packages: [], node: "all" },
  },
  processFile: "main.ts",
  maxLines: 600,
  maxFiles: 20,
  emptyNames: ["common", "helper", "helpers", "index", "misc", "shared", "util", "utils"],
};

test("the sources keep to the layers", () => {
  const files = sourcesUnder(new URL("../src/", import.meta.url));
  expect(files.length).toBeGreaterThan(0);
  expect(breaches(files, RULES)).toEqual([]);
});

describe("the rules", () => {
  const planted = (files: readonly (readonly [path: string, text: string])[]) =>
    breaches(
      [...files, file("core/group.ts"), file("ports/clock.ts")].map(([path, text]) => ({ path, text })),
      RULES,
    );
  const file = (path: string) => [path, ""] as const;
  const files = (folder: string, count: number) =>
    Array.from({ length: count }, (_, index) => file(`${folder}/file-${index}.ts`));

  test("are kept by whoever imports what the tables name", () => {
    const found = planted([
      ["engine/sync.ts", 'import "./loop/work-through.ts"; import type { Group } from "../core/group.ts";'],
      ["engine/loop/work-through.ts", 'import "../lease/lease.ts"; import "../../ports/clock.ts";'],
      file("engine/lease/lease.ts"),
      [
        "adapters/postgres/source.ts",
        'import pg from "pg"; import "pg/lib/types"; import { once } from "node:events";',
      ],
      ["commands/sandbox.ts", 'import { serve } from "../sandbox/server.ts";'],
      ["sandbox/server.ts", 'import "node:http"; /* process.env */ const hint = "see process.env";'],
      ["main.ts", 'import "./commands/sandbox.ts"; import { argv } from "node:process"; process.exit();'],
    ]);
    expect(found).toEqual([]);
  });

  test.each([
    ["core/plan.ts", "../ports/clock.ts", "core may import core, not ports"],
    ["engine/plan.ts", "../config/load.ts", "engine may import engine, core, ports, not config"],
    [
      "adapters/service/http.ts",
      "../postgres/source.ts",
      "adapters/service may import adapters/service, core, ports, not adapters/postgres",
    ],
    ["core/text/quantity.ts", "../plan/change.ts", "in core, text may import text, not plan"],
    [
      "engine/lease/lease.ts",
      "../sync.ts",
      "in engine, lease may import lease, not the files outside of the rooms",
    ],
    ["engine/plan.ts", "@scope/name/deep", "of npm packages engine may import none"],
    ["core/spool.ts", "node:fs", "of Node.js core may import crypto, util"],
    ["cli.ts", "node:process", "only main.ts touches process"],
  ])("are broken by %s, which imports %s", (path, specifier, rule) => {
    const target = new URL(specifier, `file:///${path}`).pathname.slice(1);
    const targets = specifier.startsWith(".") ? [file(target)] : [];
    expect(planted([[path, `import type { X } from "${specifier}";`], ...targets])).toEqual([
      `${path} imports "${specifier}": ${rule}`,
    ]);
  });

  test.each([
    ['import meta from "../package.json";', '"../package.json", which is no file under src'],
    ['const pg = await import("pg");', '"pg": of npm packages cli.ts may import commander'],
    ["await import(store);", "a computed name: only a literal can be checked"],
  ])("are broken by %s", (text, breach) => {
    expect(planted([["cli.ts", text]])).toEqual([`cli.ts imports ${breach}`]);
  });

  test.each([
    "const port = process.env.PORT;",
    `const text = \`at \${process.cwd()}\`;`,
    "process?.exit(1);",
    'process["exit"](1);',
    "const { env } = process;",
    "globalThis.process.exit();",
  ])("are broken by %s outside of main.ts", (code) => {
    expect(planted([["compose/sync.ts", code]])).toEqual([
      "compose/sync.ts uses process: only main.ts touches it",
    ]);
  });

  test.each([
    [
      "import cycle: core/a.ts → core/b.ts → core/c.ts → core/a.ts",
      [
        ["core/a.ts", 'import type { B } from "./b.ts";'],
        ["core/b.ts", 'import "./group.ts"; export { c } from "./c.ts";'],
        ["core/c.ts", 'import "./a.ts";'],
      ],
    ],
    [
      "folders import each other: daemon → daemon/page → daemon",
      [
        ["daemon/daemon.ts", 'import "./page/page.ts";'],
        ["daemon/page/page.ts", 'import type { Facts } from "../facts.ts";'],
        file("daemon/facts.ts"),
      ],
    ],
    [
      "adapters/oracle/source.ts belongs to no layer: add it to the table",
      [file("adapters/oracle/source.ts")],
    ],
    [
      "engine/attic/attic.ts belongs to no room of engine: add attic to the table",
      [file("engine/attic/attic.ts")],
    ],
    ['core/utils.ts: "utils.ts" says nothing about what is inside', [file("core/utils.ts")]],
    [
      'commands/shared/plan.ts: "shared" says nothing about what is inside',
      [file("commands/shared/plan.ts")],
    ],
    [
      "commands/output holds 21 files, and 20 is the most",
      [...files("commands", 20), ...files("commands/output", 21)],
    ],
    [
      "core/b.ts has 601 lines, and 600 is the most",
      [
        ["core/a.ts", "//\n".repeat(600)],
        ["core/b.ts", "//\n".repeat(601)],
      ],
    ],
  ] as const)("name a breach: %s", (breach, all) => {
    expect(planted(all)).toEqual([breach]);
  });
});

function sourcesUnder(folder: URL): SourceFile[] {
  return readdirSync(folder, { recursive: true, encoding: "utf8" })
    .filter((path) => path.endsWith(".ts"))
    .map((path) => path.replaceAll(sep, "/"))
    .map((path) => ({ path, text: readFileSync(new URL(path, folder), "utf8") }));
}
