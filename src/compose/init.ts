import { newFiles } from "../adapters/host/new-files.ts";
import { readTextFile } from "../adapters/host/text-file.ts";
import type { Config } from "../config/config.ts";
import { describeDatabase } from "../config/destinations.ts";
import { loadConfig } from "../config/load.ts";
import { type DatabaseUrl, parseBaseUrl, parseDatabaseUrl, tlsProblems } from "../config/urls.ts";
import { digestSeed } from "../core/group/desired-group.ts";
import { columnsOf, type GroupRules } from "../core/group/group-rules.ts";
import { UNKNOWN_SCHEMA, VARIABLES } from "../core/setup/setup.ts";
import { isPlainHttpToAnotherHost } from "../core/tls/database-tls.ts";
import type { AnswerProblem, CatalogReader, Dialog, NewFiles } from "../ports/setup.ts";
import type { TenantSnapshot } from "../ports/tenant-source.ts";
import { Databases, VIEW_CONNECTIONS, VIEW_TIMEOUTS } from "./databases.ts";
import { dialogOf, type Host } from "./host.ts";
import type { Opened } from "./opened.ts";
import { tenantSource } from "./tenant-source.ts";

export interface InitSetup {
  /** The url in the environment, if there is one. */
  readonly url: string | undefined;
  /** Resolves to undefined if there is nobody to ask. */
  openDialog(): Promise<Dialog | undefined>;
  readonly files: NewFiles;
  readonly urlProblem: AnswerProblem;
  readonly baseUrlProblem: AnswerProblem;
  open(url: string): Promise<Opened<InitDatabase>>;
}

export interface InitDatabase {
  /** Host, port and database. */
  readonly title: string;
  readonly catalog: CatalogReader;
  /**
   * The rules of a config whose tenants are in this database, and what opens its source with this condition in place of
   * `source.where`. Throws CONFIG_INVALID if the text is no valid config.
   */
  examples(
    config: string,
    database: string,
    where: string,
  ): Promise<{ readonly rules: GroupRules; readonly open: (stop: AbortSignal) => Promise<TenantSnapshot> }>;
}

/** The scope of the config that init writes. */
const NAME = "default";

/** What `init` needs. Reads no config file, and contacts nothing before a database is opened. */
export function composeInit(host: Host): InitSetup {
  return {
    url: host.env[VARIABLES.source],
    openDialog: () => dialogOf(host),
    files: newFiles,
    urlProblem: (text) => {
      const url = parseDatabaseUrl(text);
      return url
        ? [...tlsProblems(url)][0]
        : "it is no url of a database, like postgres://user:password@host/database or mysql://…";
    },
    baseUrlProblem,
    open: async (text) => openDatabase(parseDatabaseUrl(text) as DatabaseUrl, host),
  };
}

function baseUrlProblem(text: string): string | undefined {
  const address = parseBaseUrl(text);
  if (address === undefined)
    return "it is no address of a service, like https://dashboards.example.com, without user, query or /api/user";
  return isPlainHttpToAnotherHost(new URL(address))
    ? "http: to another host sends the API key and the tokens in clear; write https:"
    : undefined;
}

async function openDatabase(url: DatabaseUrl, host: Host): Promise<Opened<InitDatabase>> {
  const databases = new Databases(NAME, VIEW_TIMEOUTS, host.stop);
  const database = await databases.open(url, VIEW_CONNECTIONS);
  return {
    value: {
      title: describeDatabase(url),
      catalog: await catalogReader(url, database),
      examples: async (configText, database, where) => {
        const config = asLoaded(configText, withDatabase(url, database), host);
        const narrowed = { ...config, source: { ...config.source, where } };
        const source = await tenantSource(narrowed, databases);
        const rules = config.group;
        return { rules, open: (stop) => source.open(columnsOf(rules), digestSeed(rules), stop) };
      },
    },
    close: () => databases.close(),
  };
}

async function catalogReader(
  { dialect }: DatabaseUrl,
  database: Awaited<ReturnType<Databases["open"]>>,
): Promise<CatalogReader> {
  switch (dialect) {
    case "postgres": {
      const { PostgresCatalogReader } = await import("../adapters/postgres/source/catalog-reader.ts");
      return new PostgresCatalogReader(database);
    }
    case "mysql": {
      const { MysqlCatalogReader } = await import("../adapters/mysql/source/catalog-reader.ts");
      return new MysqlCatalogReader(database);
    }
  }
}

/** The url of a role names the database. The url that init was given may leave it out, on MySQL. */
function withDatabase({ dialect, url }: DatabaseUrl, database: string): string {
  if (dialect === "postgres") return url.reveal();
  return Object.assign(new URL(url.reveal()), { pathname: encodeURIComponent(database) }).href;
}

/** Takes the place of SCHEMA_ID, which the config refuses. No schema has such an id. */
const STAND_IN = `<${UNKNOWN_SCHEMA}>`;

/**
 * The config as it will be loaded, with stand-ins for what is not known yet: the database that is open for the variables'
 * values, and another key for SCHEMA_ID. Throws CONFIG_INVALID if the text is no valid config.
 */
function asLoaded(text: string, url: string, { env }: Host): Config {
  const path = "config.yaml";
  return loadConfig(path, {
    env: {
      ...env,
      [VARIABLES.source]: url,
      [VARIABLES.own]: url,
      [VARIABLES.apiKey]: "unknown",
      [VARIABLES.baseUrl]: "https://unknown.example.com",
    },
    readFile: (file) =>
      file === path ? text.replace(`"${UNKNOWN_SCHEMA}":`, `"${STAND_IN}":`) : readTextFile(file),
  });
}
