import { execFile } from "node:child_process";
import { mkdirSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { join } from "node:path";
import { promisify } from "node:util";
import { expect, inject, onTestFinished, test } from "vitest";
import { SERVERS } from "../../support/databases/fresh-database.ts";
import { documentedSql, KIND_NAMES } from "../../support/documented-sql.ts";
import { startMariadb } from "../../support/mysql/embedded-mariadb.ts";
import { pageText } from "../../support/pages.ts";
import { startPostgres } from "../../support/postgres/embedded-postgres.ts";
import { installedProgram } from "../../support/servers/debian-packages.ts";
import { temporaryFolder } from "../../support/temporary-folder.ts";
import { MAIN, startProgram } from "../program.ts";
import { until } from "../world.ts";

const PAGE = "docs/quick-start.md";
const kind = inject("databaseKind");
const isPostgres = kind === "postgres";
const KEY = "quick-start-key";

/** In place of a client of MySQL, which asks a terminal for the password, and of psql if none is installed. */
const CLIENT = `
import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { parseArgs } from "node:util";
const require = createRequire(${JSON.stringify(createRequire(import.meta.url).resolve("pg"))});
const text = { type: "string" };
const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: { set: text, file: text, command: text, execute: text, host: text, port: text, user: text, password: { type: "boolean" } },
});
const sql = values.command ?? values.execute ?? readFileSync(values.file ?? 0, "utf8");
const password = process.env.PGPASSWORD;
if (${isPostgres}) {
  const { Client } = require("pg");
  const url = new URL(positionals[0]);
  url.password ||= password;
  const client = new Client({ connectionString: url.href });
  await client.connect();
  for (const part of sql.split(/(?<=^COMMIT;)$/m)) console.log((await client.query(part)).rows);
  await client.end();
} else {
  const { host, port, user } = values;
  const client = await require("mysql2/promise").createConnection({ host, port, user, password, multipleStatements: true });
  console.log((await client.query(sql))[0]);
  await client.end();
}
`;

/** What the page has its reader type into a shell, from the empty folder to the first sync, on this kind of database. */
function typed(): string {
  const [steps = ""] = /^Go on in an empty folder.*?(?=^## 9\. Run)/ms.exec(pageText(PAGE)) ?? [];
  const others = Object.entries(KIND_NAMES).flatMap(([other, name]) =>
    other === kind ? [] : [`# ${name}\n`],
  );
  return [...steps.matchAll(/^```(sh|console)\n(.*?)^```$/gms)]
    .map(([, language, code = ""]) => (language === "sh" ? code : (/^\$ (.*\n)/.exec(code)?.[1] ?? "")))
    .filter(
      (code) => !others.some((comment) => code.startsWith(comment)) && !code.startsWith("groupsync sandbox"),
    )
    .map((code) => code.replace(/^groupsync sync$/m, '$& || [ "$?" = 3 ]'))
    .join("");
}

test("the quick start's commands lead from an empty folder to a sync, as they are typed", async () => {
  const server = await (isPostgres ? startPostgres({ durable: true }) : startMariadb());
  onTestFinished(server.stop);
  const { username, password, host } = new URL(server.url);
  const admin = SERVERS[kind].connect(server.url);
  onTestFinished(() => admin.end());
  await admin.query("CREATE DATABASE shop");
  const shop = SERVERS[kind].connect(Object.assign(new URL(server.url), { pathname: "/shop" }).href);
  onTestFinished(() => shop.end());
  const [create = ""] = documentedSql(PAGE, kind);
  for (const statement of create.split(/(?<=;)$/m)) if (statement.trim() !== "") await shop.query(statement);

  const sandbox = startProgram(["sandbox", "--existing", "update", "--api-key", KEY, "--port", "0"]);
  await until(() => /base_url: \S+/.test(sandbox.output()));
  const [, address = ""] = /base_url: (\S+)/.exec(sandbox.output()) ?? [];

  const folder = temporaryFolder();
  const [bin, clone] = [join(folder, "bin"), join(folder, "groupsync")];
  for (const path of [bin, clone]) mkdirSync(path);
  writeFileSync(join(bin, "client.mjs"), CLIENT);
  const program = (name: string, file: string): void =>
    writeFileSync(join(bin, name), `#!/bin/sh\nexec "${process.execPath}" "${file}" "$@"\n`, { mode: 0o755 });
  program("groupsync", MAIN);
  if (installedProgram("psql") === undefined) program("psql", join(bin, "client.mjs"));
  program("mysql", join(bin, "client.mjs"));

  const here = typed()
    .replaceAll("http://127.0.0.1:4180", address)
    .replaceAll("USER:PASSWORD", `${username}:${password}`)
    .replaceAll(/127\.0\.0\.1:(5432|3306)/g, host)
    .replaceAll("--port 3306", `--port ${server.port}`);
  const env = { PATH: `${bin}:${process.env.PATH}`, HOME: folder, PGPASSWORD: password };
  const { stdout } = await promisify(execFile)("sh", ["-ec", here], { cwd: clone, env });
  expect(stdout).toContain("Everything that a sync needs is there");
  expect(stdout).toContain("2 created, 1 rejected");
  // Behind the sync's report: what the application reads.
  expect(stdout.slice(stdout.indexOf("2 created"))).toContain("cus-1002");
});
