import { createFiles, type NewFile } from "../adapters/host/files.ts";
import { readCatalog } from "../adapters/sql/source/catalog.ts";
import { describeDatabase } from "../config/descriptions.ts";
import { type DatabaseUrl, parseBaseUrl, parseDatabaseUrl, tlsProblems } from "../config/urls.ts";
import type { Catalog } from "../core/setup/catalog.ts";
import { isPlainHttpToAnotherHost } from "../core/tls/database-tls.ts";
import { adapterFor, Databases, VIEW_TIMEOUTS } from "./databases.ts";
import type { Host } from "./host.ts";

export interface InitSetup {
  /** The url in the environment, if there is one. */
  readonly url: string | undefined;
  /** Makes all of the files or none. Throws CONFIG_NOT_WRITTEN, also if one of them is there already. */
  createFiles(files: readonly NewFile[]): void;
  /** What is wrong with the url of a database; undefined if nothing is. */
  urlProblem(text: string): string | undefined;
  /** What is wrong with the address of a service; undefined if nothing is. */
  baseUrlProblem(text: string): string | undefined;
  /** `title` is host, port and database. Rejects as `readCatalog` does. */
  readCatalog(url: string): Promise<{ readonly title: string; readonly catalog: Catalog }>;
}

/** The scope of the config that init writes. */
const NAME = "default";

/** What `init` needs. Reads no config file, and contacts nothing before the catalog is read. */
export const composeInit = (host: Host): InitSetup => ({
  url: host.env.DATABASE_URL,
  createFiles,
  urlProblem: (text) => {
    const url = parseDatabaseUrl(text);
    return url
      ? [...tlsProblems(url)][0]
      : "it is no url of a database, like postgres://user:password@host/database or mysql://…";
  },
  baseUrlProblem,
  readCatalog: (text) => catalogOf(parseDatabaseUrl(text) as DatabaseUrl, host),
});

function baseUrlProblem(text: string): string | undefined {
  const address = parseBaseUrl(text);
  if (address === undefined)
    return "it is no address of a service, like https://dashboards.example.com, without user, query or /api/user";
  return isPlainHttpToAnotherHost(new URL(address))
    ? "http: to another host sends the API key and the tokens in clear; write https:"
    : undefined;
}

async function catalogOf(url: DatabaseUrl, { stop }: Host) {
  const databases = new Databases(NAME, VIEW_TIMEOUTS, stop);
  try {
    const database = await databases.open(url);
    const { catalogSql } = await adapterFor(url.dialect);
    return { title: describeDatabase(url), catalog: await readCatalog(database, catalogSql) };
  } finally {
    await databases.close();
  }
}
