import { join, resolve } from "node:path";
import type { SecretPath } from "../core/secret-name.ts";
import type { SecretTokenConfig, TokenConfig, TokenTableConfig } from "./config.ts";
import { describeDatabase, describeTable } from "./database-place.ts";

/**
 * Where the tokens lie and in which form, in a line for each store, sorted:
 * `vault https://vault.internal:8200 mount secret dashboards/{{ user_group_id }} as json`.
 * Two configs that name the same places give the same lines, however they spell them and in whatever order; another
 * place or form gives another line. They go into the ledger and into messages, so no credential is in them. Nor is what
 * the environment decides where the config leaves it out, such as a region.
 */
export const describeTokenPlaces = (stores: readonly TokenConfig[]): readonly string[] =>
  stores
    .map((store) =>
      store.store === "table"
        ? tablePlace(store)
        : words(...containerOf(store), describePath(store), ...keyIn(store), "as", store.format),
    )
    .toSorted();

const tablePlace = ({ url, table, tokenColumn, idColumn, rows }: TokenTableConfig): string =>
  `${words("table", describeDatabase(url))} ${describeTable(table)} ` +
  words("column", tokenColumn, "by", idColumn, "in", rows, "rows");

/** What its secrets are in, whatever their names and form; with files the directory is a part of the name. */
export function containerOf(tokens: SecretTokenConfig): readonly string[] {
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
      return [store, tokens.vaultUrl];
    case "kubernetes": {
      const { context, namespace } = tokens;
      // A context's name says which cluster it is only within its file: a file that moved is better taken for another.
      const kubeconfig = tokens.kubeconfig === undefined ? undefined : resolve(tokens.kubeconfig);
      return [store, ...named({ kubeconfig, context, namespace })];
    }
  }
}

/** A folder may be named in the path or in the directory: the files are the same. */
const describePath = (tokens: SecretTokenConfig): string =>
  tokens.store === "file" ? join(resolve(tokens.directory), template(tokens.path)) : template(tokens.path);

const keyIn = (tokens: SecretTokenConfig): readonly string[] =>
  tokens.store === "kubernetes" ? ["key", tokens.key] : [];

const template = ([before, after]: SecretPath): string => `${before}{{ user_group_id }}${after}`;

const named = (values: Readonly<Record<string, string | undefined>>): readonly string[] =>
  Object.entries(values).flatMap(([name, value]) => (value === undefined ? [] : [name, value]));

/** In quotes where one could be read as two. */
const words = (...texts: readonly string[]): string =>
  texts
    .map((text) => (/^(?:\{\{ user_group_id \}\}|[^\s"\p{C}])+$/u.test(text) ? text : JSON.stringify(text)))
    .join(" ");
