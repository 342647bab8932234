import { hash } from "node:crypto";
import { join, resolve } from "node:path";
import { databaseHost } from "../core/tls/database-tls.ts";
import type { SecretPath } from "../core/tokens/secrets.ts";
import type { SecretTokens, TokenTable } from "./token-stores.ts";
import type { DatabaseUrl } from "./urls.ts";

const DEFAULT_PORTS: Readonly<Record<DatabaseUrl["dialect"], string>> = { postgres: "5432", mysql: "3306" };

/**
 * Host, port and database, such as `db.example.com:5432/app`. The same for every spelling of a url, and without its
 * secrets.
 */
export function describeDatabase({ dialect, url }: DatabaseUrl): string {
  const { port, pathname, searchParams } = new URL(url.reveal());
  const host = databaseHost(dialect, url.reveal());
  // PostgreSQL's driver prefers the parameter `port` to the port behind the host.
  const preferred = dialect === "postgres" ? searchParams.get("port") : null;
  const shownPort = preferred || port || DEFAULT_PORTS[dialect];
  const shownHost = host.startsWith("/") ? host.replace(/\/+$/, "") : host.toLowerCase();
  return `${shownHost}:${shownPort}${decodeURIComponent(pathname) || "/"}`;
}

/** The name of a table, without quotes that it does not need. */
export const describeTable = (table: string): string =>
  table.replace(/"((?:[^"]|"")+)"/g, (quoted, name: string) =>
    /^[\p{L}\p{N}_$-]+$/u.test(name) ? name : quoted,
  );

/** One of `table` and `query` is there. */
interface DescribedSource {
  readonly url: DatabaseUrl;
  readonly table?: string;
  readonly query?: string;
}

/**
 * Where the ids of the tenants come from, in one line: `db.example.com:5432/app public.customers by id`. The text is
 * the same for every spelling of a source. It goes into the ledger and into messages, so it holds only host, port and
 * database of the url. It leaves out `where`, because another condition still selects ids of the same tenants.
 */
export const describeSource = ({ url, table, query }: DescribedSource, idColumn: string): string =>
  `${describeDatabase(url)} ${table === undefined ? describeQuery(query ?? "") : describeTable(table)} by ${idColumn}`;

function describeQuery(query: string): string {
  const digest = hash("sha256", query.replace(/\s+/g, " ").trim());
  return `query ${digest.slice(0, 12)}`;
}

/**
 * The destinations of the tokens, one sorted line for each store, with the form in which the token is written:
 * `vault https://vault.internal:8200 mount secret dashboards/{{ user_group_id }} as json`.
 * The lines are the same for every spelling and order of the stores; another destination or form gives another line.
 * They go into the ledger and into messages, so they hold no credential. If the config leaves out a value that the
 * environment decides, such as a region, so do the lines.
 */
export const describeTokenDestinations = (
  stores: readonly (TokenTable | SecretTokens)[],
): readonly string[] =>
  stores
    .map((store) =>
      store.store === "table"
        ? tableDestination(store)
        : words(...containerOf(store), describePath(store), ...keyIn(store), "as", store.format),
    )
    .toSorted();

const tableDestination = ({ url, table, token_column, id_column, rows }: TokenTable): string =>
  `${words("table", describeDatabase(url))} ${describeTable(table)} ` +
  words("column", token_column, "by", id_column, "in", rows, "rows");

/**
 * What holds the secrets of a store, such as a vault or a namespace. The directory of a file is part of the secret's
 * name.
 */
export function containerOf(tokens: SecretTokens): readonly string[] {
  const { store } = tokens;
  switch (store) {
    case "file":
      return [store];
    case "vault":
      return [store, tokens.address, ...named({ namespace: tokens.namespace, mount: tokens.mount })];
    case "aws_secrets_manager":
      return [store, ...named({ region: tokens.region, endpoint: tokens.endpoint })];
    case "gcp_secret_manager":
      return [store, ...named({ project: tokens.project, endpoint: tokens.endpoint })];
    case "azure_key_vault":
      return [store, tokens.vault_url];
    case "kubernetes": {
      const { context, namespace } = tokens;
      // Two kubeconfigs may use one context name for two clusters. So a kubeconfig with another path is another
      // destination.
      const kubeconfig = tokens.kubeconfig === undefined ? undefined : resolve(tokens.kubeconfig);
      return [store, ...named({ kubeconfig, context, namespace })];
    }
  }
}

/** A folder names the same files, whether it stands in the path or in the directory. */
const describePath = (tokens: SecretTokens): string =>
  tokens.store === "file" ? join(resolve(tokens.directory), template(tokens.path)) : template(tokens.path);

const keyIn = (tokens: SecretTokens): readonly string[] =>
  tokens.store === "kubernetes" ? ["key", tokens.key] : [];

const template = ([before, after]: SecretPath): string => `${before}{{ user_group_id }}${after}`;

const named = (values: Readonly<Record<string, string | undefined>>): readonly string[] =>
  Object.entries(values).flatMap(([name, value]) => (value === undefined ? [] : [name, value]));

/** Joins texts, with quotes around each that could pass for two words. */
const words = (...texts: readonly string[]): string =>
  texts
    .map((text) => (/^(?:\{\{ user_group_id \}\}|[^\s"\p{C}])+$/u.test(text) ? text : JSON.stringify(text)))
    .join(" ");
