import { type Command, CommanderError } from "commander";
import { describe, expect, test } from "vitest";
import { initCommand, init as runInit } from "../../src/commands/init.ts";
import type { InitSetup } from "../../src/compose/init.ts";
import { SyncError } from "../../src/core/failure/sync-error.ts";
import type { CatalogTable } from "../../src/core/setup/catalog.ts";
import { aColumn, aKey, aTable } from "../builders/catalog.ts";
import { anIo, type Printed } from "./an-io.ts";

const URL_OF_SHOP = "postgres://app:s3cret@db.example.com:5432/shop?sslmode=require";
const CUSTOMERS = aTable("customers", [aColumn("data_source_id"), aColumn("plan")]);

interface Options {
  readonly tables?: readonly CatalogTable[];
  readonly url?: string | undefined;
}

interface Ended extends Printed {
  /** Text by path. */
  readonly files: Readonly<Record<string, string>>;
  readonly error:
    | { readonly code: string; readonly message: string; readonly hint?: string | undefined }
    | undefined;
  readonly opened: readonly string[];
}

/** Runs the command on a catalog. */
async function init(flags: readonly string[], options: Options = {}): Promise<Ended> {
  const { io, context, printed } = anIo();
  const made: Parameters<InitSetup["createFiles"]>[0][number][] = [];
  const opened: string[] = [];
  const setup: InitSetup = {
    url: "url" in options ? options.url : URL_OF_SHOP,
    createFiles: (files) => made.push(...files),
    urlProblem: (text) => (text.startsWith("postgres://") ? undefined : "it is no url"),
    baseUrlProblem: (text) => (text.startsWith("https://") ? undefined : "it is no address"),
    readCatalog: async (url) => {
      opened.push(url);
      const { tables = [CUSTOMERS] } = options;
      return {
        title: "db.example.com:5432/shop",
        catalog: { dialect: "postgres", database: "shop", tables },
      };
    },
  };
  const command = initCommand(context)
    .option("--config <FILE>", "", "config.yaml")
    .action((argument: string | undefined, _: unknown, own: Command) =>
      runInit(io, setup, argument, own.opts(), own),
    )
    .exitOverride()
    .configureOutput({ writeErr: io.stderr, writeOut: io.stdout });
  let error: Ended["error"];
  await command.parseAsync(flags, { from: "user" }).catch((thrown) => {
    if (!(thrown instanceof CommanderError) && !(thrown instanceof SyncError)) throw thrown;
    error = thrown;
  });
  return {
    ...printed,
    error,
    opened,
    files: Object.fromEntries(made.map(({ path, text }) => [path, text])),
  };
}

test("writes the config, with the statements beside it, and says what to do next", async () => {
  const { files, stdout, error } = await init(["--output", "etc/shop.yaml", "--property", "plan"]);
  expect(error).toBeUndefined();
  expect(Object.keys(files)).toEqual(["etc/shop.yaml", "etc/groupsync.sql"]);
  expect(files["etc/shop.yaml"]).toContain("table: public.customers");
  expect(files["etc/groupsync.sql"]).toContain(
    'GRANT SELECT ("id", "name", "data_source_id", "plan") ON "public"."customers" TO groupsync_reader;',
  );
  expect(stdout).toContain("Wrote etc/shop.yaml and etc/groupsync.sql.");
  const steps = [
    "1. In etc/shop.yaml, write the id of the service's schema in place of SCHEMA_ID",
    "2. Read etc/groupsync.sql. Run it as an administrator",
    "export DATABASE_URL='postgres://groupsync_reader:PASSWORD@db.example.com:5432/shop?sslmode=require'",
    "export GROUPSYNC_DATABASE_URL='postgres://groupsync:PASSWORD@db.example.com:5432/shop?sslmode=require'",
    "export GROUPSYNC_API_KEY='KEY'",
    "export GROUPSYNC_BASE_URL='https://dashboards.example.com'",
    "groupsync schema > etc/groupsync.schema.json",
    "groupsync --config etc/shop.yaml check",
    "groupsync --config etc/shop.yaml run",
  ];
  const found = steps.map((step) => stdout.indexOf(step));
  expect(found).not.toContain(-1);
  expect(found).toEqual(found.toSorted((a, b) => a - b));
});

test("for a container, the config reads files, and the files of TLS are copied beside them", async () => {
  const url = "postgres://app:s3cret@db.example.com/shop?sslmode=verify-full&sslrootcert=/etc/ssl/rds.pem";
  const { stdout, files } = await init(["--for", "container", "--base-url", "https://x.example.com"], {
    url,
  });
  const config = files["config.yaml"] ?? "";
  expect(config.match(/\$\{.*?\}/g)).toEqual(
    ["api-key", "source-url", "database-url", "database-url"].map(
      (name) => `\${file:/run/secrets/groupsync/${name}}`,
    ),
  );
  const inside = "db.example.com/shop?sslmode=verify-full&sslrootcert=/run/secrets/groupsync/rds.pem";
  for (const line of [
    `printf %s 'postgres://groupsync_reader:PASSWORD@${inside}' > secrets/source-url`,
    `printf %s 'postgres://groupsync:PASSWORD@${inside}' > secrets/database-url`,
    "printf %s 'KEY' > secrets/api-key",
    "cp '/etc/ssl/rds.pem' secrets/",
  ])
    expect(stdout).toContain(`     ${line}\n`);
  expect(stdout).not.toContain("export ");
});

test("the password is in no output and no file", async () => {
  const ended = await init([URL_OF_SHOP]);
  expect(JSON.stringify(ended.files) + ended.stdout + ended.stderr).not.toContain("s3cret");
});

describe("a table of another owner", () => {
  const theirs = aTable("customers", [], { isOurs: false, owner: "mallory" });
  const tables = [theirs];

  test("is taken only if it is named with its schema", async () => {
    for (const flags of [[], ["--table", "customers"]]) {
      const { error, files } = await init(flags, { tables });
      expect(error).toMatchObject({
        code: "CONFIG_PROPOSAL",
        message: expect.stringContaining("it is another owner's"),
        hint: expect.stringContaining("public.customers (owner mallory)"),
      });
      expect(files).toEqual({});
    }
    const { stdout, files } = await init(["--table", "public.customers"], { tables });
    expect(stdout).toContain("and belongs to mallory\n");
    expect(Object.keys(files)).toHaveLength(2);
  });
});

test("no file has a character that nobody sees, whatever the names in the database", async () => {
  const odd = ["plan\u202e", "contact\u2066_email", "updated\u200b_at"].map((name) => aColumn(name));
  const { files } = await init([], { tables: [aTable("customers", odd), aTable("cust\u202eomers")] });
  const texts = Object.values(files);
  expect(texts).toHaveLength(2);
  for (const text of texts) expect(text).not.toMatch(/\p{Cf}/u);
  const refused = await init(["--table", "cust\u202eomers"], { tables: [aTable("cust\u202eomers")] });
  expect(refused.error).toMatchObject({
    code: "CONFIG_PROPOSAL",
    message: "this user sees no table cust\\u{202e}omers in this database",
  });
});

test("names the other tables that would fit, and takes the one that is named", async () => {
  const tables = [CUSTOMERS, aTable("vendors")];
  expect((await init([], { tables })).stdout).toContain(
    "Other tables that would fit, with --table: public.vendors\n",
  );
  const { files } = await init(["--table", "vendors"], { tables });
  expect(files["config.yaml"]).toContain("table: public.vendors");
});

test("takes the url from the command before that of the environment", async () => {
  const other = "postgres://app@localhost/other";
  expect((await init([other])).opened).toEqual([other]);
  expect((await init([])).opened).toEqual([URL_OF_SHOP]);
});

describe("wrong usage contacts no database and writes nothing:", () => {
  test.each<[string, readonly string[], Options, string]>([
    ["no url", [], { url: undefined }, "which database?"],
    ["an empty url in the environment", [], { url: "" }, "which database?"],
    ["a wrong url", ["db.example.com"], {}, "the url can't be used: it is no url"],
    ["a wrong url in the environment", [], { url: "x" }, "DATABASE_URL can't be used: it is no url"],
    ["a wrong address of the service", ["--base-url", "x"], {}, "--base-url: it is no address"],
    ["a container without an address", ["--for", "container"], {}, "--for container needs --base-url"],
    ["a host that is none", ["--account-host", "x' y"], {}, "such as 10.20.%"],
    ["a mapping without a column", ["--mapping", "40="], {}, "such as 40=data_source_id"],
  ])("%s", async (_, flags, options, message) => {
    const { error, stderr, opened, files } = await init(flags, options);
    expect(error).toBeInstanceOf(CommanderError);
    expect(stderr).toContain(message);
    expect({ opened, files }).toEqual({ opened: [], files: {} });
  });
});

describe("wrong config, with the choices:", () => {
  test.each<[string, readonly string[], Options, string]>([
    ["no table at all", [], { tables: [] }, "this user sees no table in this database"],
    ["no table of this name", ["--table", "kunden"], {}, "this user sees no table kunden in this database"],
  ])("%s", async (_, flags, options, message) => {
    expect((await init(flags, options)).error).toMatchObject({ code: "CONFIG_PROPOSAL", message });
  });

  test("no table that fits", async () => {
    const notes = aTable("notes", [], {
      columns: [aKey(), ...Array.from({ length: 30 }, (_, n) => aColumn(`c${n}`))],
    });
    const { error, files } = await init([], { tables: [notes, aTable("secret", [], { isReadable: false })] });
    expect(error).toMatchObject({
      code: "CONFIG_PROPOSAL",
      hint: expect.stringMatching(
        /--table, --id and --group-name.*\n {2}public\.notes: it has no column that could be a name; its columns: id, c0, .*, …\n {2}public\.secret: this user may not read it;/,
      ),
    });
    expect(files).toEqual({});
  });
});
